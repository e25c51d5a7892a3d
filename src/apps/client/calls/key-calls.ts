// Keys of a server, for administrators, and what they have used.
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";

const all = "/v1/preview/keys";
const one = "/v1/preview/keys/{key_id}";
const limits = "/v1/preview/entities/{entity}/limits";
const used = "/v1/preview/usage";

/** `hone.keys`; all of it but usage needs an admin's key without limits. */
export class KeyCalls extends CallGroup {
  /** The only answer that has the secret. */
  readonly create = this.send(`POST ${all}`);
  /** The newest first unless asked, revoked ones included. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** Changes the fields that are named; null takes a limit away. */
  readonly change = this.send(`POST ${one}`, { isRepeatable: true });
  /** Another secret; the one that it has now holds for `grace_seconds` more. The only answer that has the new one. */
  readonly rotate = this.send(`POST ${one}/rotate`);
  /** From the next request on it is refused, and what runs for it ends. */
  readonly revoke = this.call(`DELETE ${one}`);
  /** What all keys of an entity may do together; null for what the server's settings say. */
  readonly limits = this.call(`GET ${limits}`);
  /** Changes the fields that are named; null takes a limit away. */
  readonly changeLimits = this.send(`POST ${limits}`, { isRepeatable: true });
  /** A row for each day, key and model, the latest day first unless asked. */
  readonly usage = this.pages(`GET ${used}`);

  /** The same as CSV, as it comes, the earliest day first. */
  exportUsage(
    query: QueryOf<`GET ${typeof used}/export`> = {},
    options?: RequestOptions,
  ): Promise<AsyncGenerator<Uint8Array>> {
    return this.calls.bytes(`GET ${used}/export`, { query }, options);
  }
}

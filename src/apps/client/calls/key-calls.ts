// Calls about a server's keys, for administrators, and about their usage.
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";

const all = "/v1/preview/keys";
const one = "/v1/preview/keys/{key_id}";
const limits = "/v1/preview/entities/{entity}/limits";
const used = "/v1/preview/usage";

/** `hone.keys`; everything but usage requires an admin key with all scopes. */
export class KeyCalls extends CallGroup {
  /** Creates a key; only this answer contains the secret. */
  readonly create = this.send(`POST ${all}`);
  /** Lists keys, newest first by default, including revoked ones. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** Changes the given fields; null removes a limit. */
  readonly change = this.send(`POST ${one}`, { isRepeatable: true });
  /** Rotates the secret; the old one stays valid for `grace_seconds`. Only this answer contains the new secret. */
  readonly rotate = this.send(`POST ${one}/rotate`);
  /** Revokes a key: its next request is refused, and running ones end. */
  readonly revoke = this.call(`DELETE ${one}`);
  /** Returns the limits shared by all keys of an entity; null where the server's settings apply. */
  readonly limits = this.call(`GET ${limits}`);
  /** Changes the given fields; null removes a limit. */
  readonly changeLimits = this.send(`POST ${limits}`, { isRepeatable: true });
  /** Lists usage with a row per day, key and model, latest day first by default. */
  readonly usage = this.pages(`GET ${used}`);

  /** Streams the usage as CSV, earliest day first. */
  exportUsage(
    query: QueryOf<`GET ${typeof used}/export`> = {},
    options?: RequestOptions,
  ): Promise<AsyncGenerator<Uint8Array>> {
    return this.calls.bytes(`GET ${used}/export`, { query }, options);
  }
}

// Calls for administrators, to manage a server's API keys, and calls that report the usage of keys.
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";

const all = "/v1/preview/keys";
const one = "/v1/preview/keys/{key_id}";
const limits = "/v1/preview/entities/{entity}/limits";
const used = "/v1/preview/usage";

/** The call group `hone.keys`. All calls except usage require an admin key with all scopes. */
export class KeyCalls extends CallGroup {
  /** Creates a key. Only this answer contains its secret. */
  readonly create = this.send(`POST ${all}`);
  /** Lists keys including revoked ones, newest first by default. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** Changes the given fields of a key; null removes a limit. */
  readonly change = this.send(`POST ${one}`, { isRepeatable: true });
  /**
   * Replaces a key's secret; the old secret stays valid for `grace_seconds`. Only this answer contains the new secret.
   */
  readonly rotate = this.send(`POST ${one}/rotate`);
  /** Revokes a key: new requests with it are refused, and running ones are ended. */
  readonly revoke = this.call(`DELETE ${one}`);
  /** Returns the limits that all keys of an entity share; null for limits that the server's settings determine. */
  readonly limits = this.call(`GET ${limits}`);
  /** Changes the given limits of an entity; null removes a limit. */
  readonly changeLimits = this.send(`POST ${limits}`, { isRepeatable: true });
  /** Lists usage per day, key and model, latest day first by default. */
  readonly usage = this.pages(`GET ${used}`);

  /** Streams usage as CSV, earliest day first. */
  exportUsage(
    query: QueryOf<`GET ${typeof used}/export`> = {},
    options?: RequestOptions,
  ): Promise<AsyncGenerator<Uint8Array>> {
    return this.calls.bytes(`GET ${used}/export`, { query }, options);
  }
}

// Keys of a server, for administrators, and what they have used.
import type {
  EntityLimits,
  EntityLimitsChange,
  Key,
  KeyChange,
  KeyCreate,
  KeyRotation,
  NewKey,
  Page,
  Usage,
} from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import type { Pages } from "../pages.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";

const all = "/v1/preview/keys";
const one = `${all}/{key_id}` as const;
const limits = "/v1/preview/entities/{entity}/limits";
const used = "/v1/preview/usage";

/** `hone.keys`; all of it but usage needs an admin's key without limits. */
export class KeyCalls extends CallGroup {
  /** The only answer that has the secret. */
  create(body: KeyCreate = {}, options?: RequestOptions): Promise<NewKey> {
    return this.calls.value(`POST ${all}`, { body }, options);
  }

  /** The newest first unless asked, revoked ones included. */
  list(query: QueryOf<`GET ${typeof all}`> = {}, options?: RequestOptions): Pages<Key, Page<Key>> {
    return this.calls.pages(`GET ${all}`, { query }, options);
  }

  get(id: string, options?: RequestOptions): Promise<Key> {
    return this.calls.value(`GET ${one}`, { path: { key_id: id } }, options);
  }

  /** What is named changes; null takes a limit away. */
  change(id: string, body: KeyChange, options?: RequestOptions): Promise<Key> {
    return this.calls.value(
      `POST ${one}`,
      { path: { key_id: id }, body },
      { isRepeatable: true, ...options },
    );
  }

  /** Another secret; the one that it has now holds for `grace_seconds` more. The only answer that has the new one. */
  rotate(id: string, body: KeyRotation = {}, options?: RequestOptions): Promise<NewKey> {
    return this.calls.value(`POST ${one}/rotate`, { path: { key_id: id }, body }, options);
  }

  /** From the next request on it is refused, and what runs for it ends. */
  revoke(id: string, options?: RequestOptions): Promise<Key> {
    return this.calls.value(`DELETE ${one}`, { path: { key_id: id } }, options);
  }

  /** What all keys of an entity may do together; null for what the server's settings say. */
  limits(entity: string, options?: RequestOptions): Promise<EntityLimits> {
    return this.calls.value(`GET ${limits}`, { path: { entity } }, options);
  }

  /** What is named changes; null takes a limit away. */
  changeLimits(entity: string, body: EntityLimitsChange, options?: RequestOptions): Promise<EntityLimits> {
    return this.calls.value(`POST ${limits}`, { path: { entity }, body }, { isRepeatable: true, ...options });
  }

  /** A row for each day, key and model, the latest day first unless asked. */
  usage(query: QueryOf<`GET ${typeof used}`> = {}, options?: RequestOptions): Pages<Usage, Page<Usage>> {
    return this.calls.pages(`GET ${used}`, { query }, options);
  }

  /** The same as CSV, as it comes, the earliest day first. */
  exportUsage(
    query: QueryOf<`GET ${typeof used}/export`> = {},
    options?: RequestOptions,
  ): Promise<AsyncGenerator<Uint8Array>> {
    return this.calls.bytes(`GET ${used}/export`, { query }, options);
  }
}

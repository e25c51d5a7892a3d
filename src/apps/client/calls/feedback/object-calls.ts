// Calls for named objects, mainly annotation specs. Publishing different content under a name creates a new version.
import type {
  WeaveObject,
  WeaveObjectCreateReq,
  WeaveObjectDeleteReq,
  WeaveObjectQueryReq,
  WeaveObjectReadReq,
} from "../../api.ts";
import type { RequestOptions } from "../../connection.ts";
import { CallGroup } from "../call-group.ts";

/** The call group `hone.objects`. */
export class ObjectCalls extends CallGroup {
  /** Publishes a version of an object. Idempotent: the same content creates no second version. */
  publish(
    object: WeaveObjectCreateReq["obj"],
    options?: RequestOptions,
  ): Promise<{ readonly digest: string; readonly object_id: string }> {
    const sent = { isRepeatable: true, ...options };
    return this.calls.call("POST /obj/create", { body: { obj: object } }, sent);
  }

  /**
   * Returns a version of an object.
   *
   * @param wanted.digest digest of the version, its number as `v0`, `v1` and so on, or `latest`
   */
  async get(wanted: WeaveObjectReadReq, options?: RequestOptions): Promise<WeaveObject> {
    const sent = { isRepeatable: true, ...options };
    return (await this.calls.call("POST /obj/read", { body: wanted }, sent)).obj;
  }

  /** Lists object versions by name, at most a hundred by default. */
  async list(query: WeaveObjectQueryReq, options?: RequestOptions): Promise<readonly WeaveObject[]> {
    const sent = { isRepeatable: true, ...options };
    return (await this.calls.call("POST /objs/query", { body: query }, sent)).objs;
  }

  /** Deletes versions of an object permanently, by default all, and returns how many were deleted. */
  async delete(wanted: WeaveObjectDeleteReq, options?: RequestOptions): Promise<number> {
    return (await this.calls.call("POST /obj/delete", { body: wanted }, options)).num_deleted;
  }

  /** Permanently deletes a project's objects and everything that Weave clients published or recorded in it. */
  async deleteTraces(entity: string, project: string, options?: RequestOptions): Promise<void> {
    const path = { entity, project };
    await this.calls.call("DELETE /v1/preview/projects/{entity}/{project}/traces", { path }, options);
  }
}

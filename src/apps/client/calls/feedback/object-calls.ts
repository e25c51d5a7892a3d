// Calls about objects published under a name, with one version per content: mainly annotation specs.
import type {
  WeaveObject,
  WeaveObjectCreateReq,
  WeaveObjectDeleteReq,
  WeaveObjectQueryReq,
  WeaveObjectReadReq,
} from "../../api.ts";
import type { RequestOptions } from "../../connection.ts";
import { CallGroup } from "../call-group.ts";

/** `hone.objects` */
export class ObjectCalls extends CallGroup {
  /** Publishes a version of an object; the same content again adds nothing. */
  publish(
    object: WeaveObjectCreateReq["obj"],
    options?: RequestOptions,
  ): Promise<{ readonly digest: string; readonly object_id: string }> {
    const sent = { isRepeatable: true, ...options };
    return this.calls.call("POST /obj/create", { body: { obj: object } }, sent);
  }

  /** @param wanted.digest a digest, `v0` and so on, or `latest` */
  async get(wanted: WeaveObjectReadReq, options?: RequestOptions): Promise<WeaveObject> {
    const sent = { isRepeatable: true, ...options };
    return (await this.calls.call("POST /obj/read", { body: wanted }, sent)).obj;
  }

  /** Lists objects by name and version, at most a hundred by default. */
  async list(query: WeaveObjectQueryReq, options?: RequestOptions): Promise<readonly WeaveObject[]> {
    const sent = { isRepeatable: true, ...options };
    return (await this.calls.call("POST /objs/query", { body: query }, sent)).objs;
  }

  /** Removes versions permanently, all of the name by default, and returns their number. */
  async delete(wanted: WeaveObjectDeleteReq, options?: RequestOptions): Promise<number> {
    return (await this.calls.call("POST /obj/delete", { body: wanted }, options)).num_deleted;
  }

  /** Removes all traces of a project permanently: its objects, and what Weave clients published and recorded in it. */
  async deleteTraces(entity: string, project: string, options?: RequestOptions): Promise<void> {
    const path = { entity, project };
    await this.calls.call("DELETE /v1/preview/projects/{entity}/{project}/traces", { path }, options);
  }
}

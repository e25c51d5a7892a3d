// Objects that are published under a name, each content of them a version: annotation specs, above all.
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
  /** Makes the content a version of its name; the same content again adds nothing. */
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

  /** By name and version, at most a hundred unless asked otherwise. */
  async list(query: WeaveObjectQueryReq, options?: RequestOptions): Promise<readonly WeaveObject[]> {
    const sent = { isRepeatable: true, ...options };
    return (await this.calls.call("POST /objs/query", { body: query }, sent)).objs;
  }

  /** Removes versions for good, all of the name unless some are named; answers how many. */
  async delete(wanted: WeaveObjectDeleteReq, options?: RequestOptions): Promise<number> {
    return (await this.calls.call("POST /obj/delete", { body: wanted }, options)).num_deleted;
  }

  /** Removes all traces of a project for good: its objects, and what clients of Weave have published and recorded in it. */
  async deleteTraces(entity: string, project: string, options?: RequestOptions): Promise<void> {
    const path = { entity, project };
    await this.calls.call("DELETE /v1/preview/projects/{entity}/{project}/traces", { path }, options);
  }
}

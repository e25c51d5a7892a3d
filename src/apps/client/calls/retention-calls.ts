// What of what is stored does not stay.
import type { Retention, RetentionSweep, RetentionSweepCreate } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";
import type { QueryOf } from "./calls.ts";

const path = "/v1/preview/retention";

/** `hone.retention` */
export class RetentionCalls extends CallGroup {
  /** The limits with what there is, and what was removed by day. */
  get(query: QueryOf<`GET ${typeof path}`> = {}, options?: RequestOptions): Promise<Retention> {
    return this.calls.value(`GET ${path}`, { query }, options);
  }

  /** Removes at once what does not stay, or with `dry_run` says what that is. For administrators. */
  sweep(body: RetentionSweepCreate = {}, options?: RequestOptions): Promise<RetentionSweep> {
    return this.calls.value(`POST ${path}/sweep`, { body }, { isRepeatable: true, ...options });
  }
}

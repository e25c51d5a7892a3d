// Calls about the retention of stored data.
import { CallGroup } from "./call-group.ts";

/** `hone.retention` */
export class RetentionCalls extends CallGroup {
  /** Returns the limits, the storage in use, and removals per day. */
  readonly get = this.search("GET /v1/preview/retention");
  /** Removes expired data now, or with `dry_run` only reports them. For administrators. */
  readonly sweep = this.send("POST /v1/preview/retention/sweep", { isRepeatable: true });
}

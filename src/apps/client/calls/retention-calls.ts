// Calls for the retention of stored data.
import { CallGroup } from "./call-group.ts";

/** The call group `hone.retention`. */
export class RetentionCalls extends CallGroup {
  /** Returns the retention limits, the storage used, and the data removed per day. */
  readonly get = this.search("GET /v1/preview/retention");
  /** Removes expired data now, or with `dry_run` only reports them. For administrators. */
  readonly sweep = this.send("POST /v1/preview/retention/sweep", { isRepeatable: true });
}

// What of what is stored does not stay.
import { CallGroup } from "./call-group.ts";

/** `hone.retention` */
export class RetentionCalls extends CallGroup {
  /** The limits with what there is, and what was removed by day. */
  readonly get = this.search("GET /v1/preview/retention");
  /** Removes at once what does not stay, or with `dry_run` says what that is. For administrators. */
  readonly sweep = this.send("POST /v1/preview/retention/sweep", { isRepeatable: true });
}

// Limits for reading a body. Plain data, so that it can be passed to threads.
import type { JsonLimits } from "../../base/validation/json-body.ts";
import type { CompletionLimits } from "./completions/read-completion.ts";

export interface BodyLimits extends CompletionLimits {
  /** Maximum number of groups in a training job or a log. */
  readonly trajectoryGroups: number;
  readonly feedbackBatchRecords: number;
  /** Maximum number of tests in a constraint check. */
  readonly checkTests: number;
  readonly json: JsonLimits;
  /** JSON limits for each trajectory group. */
  readonly trajectoryJson: JsonLimits;
}

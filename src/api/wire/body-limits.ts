// Limits for reading a request's body. They are plain data, so that they can be passed to worker threads.
import type { JsonLimits } from "../../base/validation/json-body.ts";
import type { CompletionLimits } from "./completions/read-completion.ts";

export interface BodyLimits extends CompletionLimits {
  /** Maximum number of trajectory groups in a training job or a log. */
  readonly trajectoryGroups: number;
  readonly feedbackBatchRecords: number;
  /** Maximum number of values that one check of a constraint may test. */
  readonly checkTests: number;
  readonly json: JsonLimits;
  /** JSON limits for each trajectory group, separately. */
  readonly trajectoryJson: JsonLimits;
}

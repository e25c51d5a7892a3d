// Limits for reading a body. Plain data, so that it can be passed to threads.
import type { JsonLimits } from "../../base/validation/json-body.ts";
import type { CompletionLimits } from "./completions/read-completion.ts";

export interface BodyLimits extends CompletionLimits {
  /** Groups of a training job or a log. */
  readonly trajectoryGroups: number;
  readonly feedbackBatchRecords: number;
  /** Tests of a constraint. */
  readonly checkTests: number;
  readonly json: JsonLimits;
  /** Limits for each group of trajectories. */
  readonly trajectoryJson: JsonLimits;
}

// What bounds the reading of a body, as plain data: it goes to other threads.
import type { JsonLimits } from "../../base/validation/json-body.ts";
import type { CompletionLimits } from "./completions/read-completion.ts";

export interface BodyLimits extends CompletionLimits {
  /** Groups of a training job or a log. */
  readonly trajectoryGroups: number;
  readonly feedbackBatchRecords: number;
  /** Tests of a constraint. */
  readonly checkTests: number;
  readonly json: JsonLimits;
  /** Of each group of trajectories. */
  readonly trajectoryJson: JsonLimits;
}

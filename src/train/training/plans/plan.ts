// What a job has its trainer do: batches, a loss, an optimizer step for each, and the metrics it reports. Decided by
// the job's data, configuration, settings and seed alone, before the first step; each kind of job has its plan.
import type { JobCounts } from "../../../base/domain/job.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import type { PlannedBatch, PlannedSequence } from "../data/planned-sequence.ts";
import type { PreferenceReference } from "../../../base/domain/preferences/preference-config.ts";
import type { Metrics } from "../job-metrics.ts";
import type { BaseComparison } from "../steps/reference-logprobs.ts";
import type {
  ForwardBackwardResult,
  ForwardResult,
  Loss,
  OptimizerStep,
  OptimizerStepResult,
} from "../trainer.ts";

export interface TrainingPlan {
  /** Of the optimizer steps, in order. */
  readonly batches: readonly PlannedBatch[];
  /** Reads the tokens of sequences of the job, with their log-probabilities as recorded. */
  readonly read: (batch: PlannedBatch) => OptimizerBatch;
  /** Whether what the model gives before the first step takes the place of the recorded log-probabilities. */
  readonly precalculatesLogprobs: boolean;
  /** With that, what the ratio of the two may weigh a token with; 0 does not weigh. */
  readonly importanceTruncation: number;
  readonly loss: Loss;
  /** Of each batch the rows that are also computed with the base model; all of them where the loss has a KL penalty. */
  readonly comparedRows: readonly (readonly number[])[];
  /** Step `index`, from 0. */
  readonly optimizerStep: (index: number) => OptimizerStep;
  readonly counts: JobCounts;
  /** What is known before the first step. */
  readonly warnings: readonly string[];
  /** Sequences that are computed before the first step and after the last; at least one where there are steps. */
  readonly checked: PlannedBatch;
  /** What a loss of preferences compares answers with; null of other losses. */
  readonly preferences: PreferencePlan | null;
  readonly metrics: JobMetrics;
}

export interface PreferencePlan {
  /** Computed once, before the first step; null where the loss compares with none. */
  readonly reference: PreferenceReference | null;
  /** Of each batch what KTO's reference point is estimated from; none with other losses. */
  readonly mismatches: readonly (readonly PlannedMismatch[])[];
  /** Reads their tokens, as sequences of which the answers train. */
  readonly readMismatches: (mismatches: readonly PlannedMismatch[]) => OptimizerBatch;
}

/** A prompt with an answer to another one. */
export interface PlannedMismatch {
  /** Of the prompt. */
  readonly prompt: PlannedSequence;
  /** Of the answer. */
  readonly answer: PlannedSequence;
}

/** What a job reports of its steps: metrics, and a warning before the first. */
export interface JobMetrics {
  /** Of the event `training_started`. */
  readonly start: Metrics;
  /** Of step `index`. */
  step(index: number, taken: TakenStep): Metrics;
  /** The same with what clients want of every event. */
  event(index: number, step: Metrics): Metrics;
  /** Of the version and `training_ended`. */
  version(steps: readonly Metrics[], seconds: number): Metrics;
  /**
   * Returns a warning if the checked sequences give reason for one before the first step, else null.
   *
   * @param recorded the checked sequences as recorded
   */
  startWarning(recorded: OptimizerBatch, computed: ForwardResult): string | null;
  /**
   * Judges what the steps made of the model; null for jobs whose model is not judged.
   *
   * @param steps of the whole job
   * @param compared the checked sequences with the log-probabilities of the policy before the job
   * @param computed the same sequences behind the last step
   */
  readonly result:
    | ((steps: readonly Metrics[], compared: OptimizerBatch, computed: ForwardResult) => JobResult)
    | null;
}

/** Judgement of a finished job's model. */
export interface JobResult {
  /** Metrics of the version and of `training_ended`, besides the means of the steps. */
  readonly metrics: Metrics;
  readonly warnings: readonly string[];
  /** Error message of a job that may not make a version; null for one that may. */
  readonly refusal: string | null;
}

/** Result of a kind of job whose model is not judged. */
export const unjudged: JobResult = { metrics: {}, warnings: [], refusal: null };

/** What came of one optimizer step. */
export interface TakenStep {
  /** With the log-probabilities as recorded. */
  readonly recorded: OptimizerBatch;
  /** With the log-probabilities that the loss compares with. */
  readonly batch: OptimizerBatch;
  readonly comparison: BaseComparison;
  readonly gradient: ForwardBackwardResult;
  readonly step: OptimizerStepResult;
  /** From the batch to the changed weights. */
  readonly seconds: number;
}

// The plan of a job: its batches, loss, optimizer steps, metrics, counts of steps, and the sequences that are checked before
// and after. It depends only on the job's data, configuration, settings and seed. Each kind of job has its own plan.
import type { JobCounts, StepCounts } from "../../../base/domain/job.ts";
import type { OptimizerBatch, PlannedBatch, PlannedSequence } from "../data/optimizer-batches.ts";
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

/** @param passCount how often each sequence trains in these batches */
export function stepCountsOf(batches: readonly PlannedBatch[], passCount: number): StepCounts {
  const sequencesMax = batches.reduce((most, { length }) => Math.max(most, length), 0);
  return { count: batches.length, passCount, sequencesMax };
}

/**
 * A step of AdamW moves no number by much more than its learning rate, so that the sum over a job bounds what it can have
 * changed. On the built-in model a dozen jobs of 3e-4 change no answer, and one of 6e-3 most.
 */
const MOVE_MIN = 5e-4;

/**
 * A warning for a job whose steps are too small to have changed any answer; null where they may have.
 *
 * @param steps of the whole job, those of earlier attempts included
 */
export function movementWarning(steps: readonly Metrics[]): string | null {
  if (steps.length === 0) return null;
  const taken = steps.length === 1 ? "its one step" : `its ${steps.length} steps`;
  if (steps.every((step) => step["grad_norm"] === 0))
    return `The gradient of ${taken} was 0, so nothing was learned: bounds that cut every token do that (epsilon, mask_prob_ratio).`;
  const reach = steps.reduce((sum, step) => sum + (step["learning_rate"] ?? 0), 0);
  if (reach >= MOVE_MIN) return null;
  return (
    `The learning rates of ${taken} sum to ${reach.toPrecision(2)}, and no number of the adapter moves by much more than that: ` +
    "answers hardly change in one such job. Raise learning_rate, or take more steps (batch_size, steps, passes)."
  );
}

/** The shortest sequence of a job, which costs least; none without batches. */
export function shortestOf(batches: readonly PlannedBatch[]): PlannedBatch {
  const [first, ...others] = batches.flat();
  if (first === undefined) return [];
  return [others.reduce((one, other) => (other.tokenCount < one.tokenCount ? other : one), first)];
}

/** Few tokens say little of a mean, and a check of many takes noticeably longer than a step. */
const [tokensMin, tokensMax] = [128, 1024];

/** Share of a job's tokens between these bounds. */
const tokenShare = 0.1;

/** Sequences from all over a job, up to a tenth of its tokens; at least one where there are batches. */
export function sampleOf(batches: readonly PlannedBatch[]): PlannedBatch {
  const sequences = [...new Set(batches.flat())];
  const tokenCount = sequences.reduce((sum, sequence) => sum + sequence.tokenCount, 0);
  const wanted = Math.min(Math.max(tokenShare * tokenCount, tokensMin), tokensMax);
  const count = Math.ceil((sequences.length * wanted) / Math.max(tokenCount, 1));
  const sample: PlannedSequence[] = [];
  let sampledTokens = 0;
  for (let index = 0; index < Math.min(count, sequences.length); index++) {
    const sequence = sequences[Math.floor((index * sequences.length) / Math.min(count, sequences.length))];
    if (sample.length > 0 && sampledTokens + sequence.tokenCount > tokensMax) continue;
    sample.push(sequence);
    sampledTokens += sequence.tokenCount;
  }
  return sample;
}

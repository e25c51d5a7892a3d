// The plan of a job: its batches, loss, optimizer steps, metrics, counts of steps, and the sequences checked before
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
  /** The batches of the optimizer steps, in order. */
  readonly batches: readonly PlannedBatch[];
  /** Reads the tokens of the job's sequences, with their recorded log-probabilities. */
  readonly read: (batch: PlannedBatch) => OptimizerBatch;
  /** True if log-probabilities computed before the first step replace the recorded ones. */
  readonly precalculatesLogprobs: boolean;
  /**
   * If precalculated: maximum of the ratio of the two probabilities, by which each token is weighted; 0 for no
   * weighting.
   */
  readonly importanceTruncation: number;
  readonly loss: Loss;
  /** For each batch, the rows also computed with the base model; all of them if the loss has a KL penalty. */
  readonly comparedRows: readonly (readonly number[])[];
  /** Settings of step `index`, 0-based. */
  readonly optimizerStep: (index: number) => OptimizerStep;
  readonly counts: JobCounts;
  /** Warnings known before the first step. */
  readonly warnings: readonly string[];
  /** Sequences computed before the first step and after the last; at least one if there are steps. */
  readonly checked: PlannedBatch;
  /** Plan of a preference loss's comparisons; null for other losses. */
  readonly preferences: PreferencePlan | null;
  readonly metrics: JobMetrics;
}

export interface PreferencePlan {
  /** The reference, computed once before the first step; null if the loss uses none. */
  readonly reference: PreferenceReference | null;
  /** For each batch, the mismatches that estimate KTO's reference point; empty for other losses. */
  readonly mismatches: readonly (readonly PlannedMismatch[])[];
  /** Reads the mismatches as sequences whose answers train. */
  readonly readMismatches: (mismatches: readonly PlannedMismatch[]) => OptimizerBatch;
}

/** A prompt with an answer to another prompt. */
export interface PlannedMismatch {
  /** Sequence of the prompt. */
  readonly prompt: PlannedSequence;
  /** Sequence of the answer. */
  readonly answer: PlannedSequence;
}

/** A job's metrics, and a possible warning before the first step. */
export interface JobMetrics {
  /** Metrics of the event `training_started`. */
  readonly start: Metrics;
  /** Returns the metrics of step `index`. */
  step(index: number, taken: TakenStep): Metrics;
  /** Returns the step's metrics with those that clients expect in each event. */
  event(index: number, step: Metrics): Metrics;
  /** Returns the metrics of the version and of `training_ended`. */
  version(steps: readonly Metrics[], seconds: number): Metrics;
  /**
   * Returns a warning if the checked sequences give reason for one before the first step, else null.
   *
   * @param recorded the checked sequences as recorded
   */
  startWarning(recorded: OptimizerBatch, computed: ForwardResult): string | null;
  /**
   * Judges the model after the steps; null for kinds of jobs that are not judged.
   *
   * @param steps of the whole job
   * @param compared the checked sequences with the log-probabilities of the policy before the job
   * @param computed the same sequences after the last step
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

/** The data and results of one optimizer step. */
export interface TakenStep {
  /** The batch with the recorded log-probabilities. */
  readonly recorded: OptimizerBatch;
  /** The batch with the log-probabilities that the loss uses. */
  readonly batch: OptimizerBatch;
  readonly comparison: BaseComparison;
  readonly gradient: ForwardBackwardResult;
  readonly step: OptimizerStepResult;
  /** Time from reading the batch to the updated weights. */
  readonly seconds: number;
}

/**
 * Counts the steps and their sequences.
 * @param passCount number of times that each sequence trains in these batches
 */
export function stepCountsOf(batches: readonly PlannedBatch[], passCount: number): StepCounts {
  const sequencesMax = batches.reduce((most, { length }) => Math.max(most, length), 0);
  return { count: batches.length, passCount, sequencesMax };
}

/**
 * An AdamW step moves no value by much more than its learning rate, so the sum over a job bounds its change. On the
 * built-in model a dozen jobs with a sum of 3e-4 change no answer, and one of 6e-3 most.
 */
const MOVE_MIN = 5e-4;

/**
 * Returns a warning if the job's steps are too small to have changed any answer; null if they may have.
 *
 * @param steps of the whole job, including those of earlier attempts
 */
export function movementWarning(steps: readonly Metrics[]): string | null {
  if (steps.length === 0) return null;
  const taken = steps.length === 1 ? "its one step" : `its ${steps.length} steps`;
  if (steps.every((step) => step["grad_norm"] === 0))
    return `The gradient of ${taken} was 0, so nothing was learned: bounds that clip every token cause this (epsilon, mask_prob_ratio).`;
  const reach = steps.reduce((sum, step) => sum + (step["learning_rate"] ?? 0), 0);
  if (reach >= MOVE_MIN) return null;
  return (
    `The learning rates of ${taken} sum to ${reach.toPrecision(2)}, and no weight of the adapter moves by much more than that: ` +
    "such a job hardly changes answers. Raise learning_rate, or take more steps (batch_size, steps, passes)."
  );
}

/** Returns the shortest, and so cheapest, sequence of a job; empty without batches. */
export function shortestOf(batches: readonly PlannedBatch[]): PlannedBatch {
  const [first, ...others] = batches.flat();
  if (first === undefined) return [];
  return [others.reduce((one, other) => (other.tokenCount < one.tokenCount ? other : one), first)];
}

/**
 * Bounds of the sample in tokens: a mean over fewer is unreliable, and checking more takes noticeably longer than a
 * step.
 */
const [tokensMin, tokensMax] = [128, 1024];

/** Share of a job's tokens in the sample, within these bounds. */
const tokenShare = 0.1;

/** Returns sequences from all over a job, up to a tenth of its tokens; at least one if there are batches. */
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

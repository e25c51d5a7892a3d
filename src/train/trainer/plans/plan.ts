// The plan of a job: its batches, its loss, the settings of its steps, its metrics and counts, and the sequences that
// are computed before and after training. A plan depends only on the job's data, configuration, settings and seed.
// Each kind of job makes its own plan.
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
  /** True if the old log-probabilities are computed before the first step and not taken from the records. */
  readonly precalculatesLogprobs: boolean;
  /**
   * Each token is weighted by the ratio of its precalculated to its recorded probability, up to this maximum. 0 for no
   * weighting; used only with precalculated log-probabilities.
   */
  readonly importanceTruncation: number;
  readonly loss: Loss;
  /**
   * For each batch, the rows that are also computed with the base model. If the loss has a KL penalty, these are all
   * rows.
   */
  readonly comparedRows: readonly (readonly number[])[];
  /** Settings of step `index`, 0-based. */
  readonly optimizerStep: (index: number) => OptimizerStep;
  readonly counts: JobCounts;
  /** Warnings known before the first step. */
  readonly warnings: readonly string[];
  /**
   * Sequences that are computed before the first step and after the last, to see what the job changed; at least one if
   * there are steps.
   */
  readonly checked: PlannedBatch;
  /** Plan of the reference values that a preference loss needs; null for other losses. */
  readonly preferences: PreferencePlan | null;
  readonly metrics: JobMetrics;
}

export interface PreferencePlan {
  /** The reference policy's values, computed once before the first step; null if the loss uses no reference. */
  readonly reference: PreferenceReference | null;
  /** For each batch, the mismatches from which KTO's reference point is estimated; empty for other losses. */
  readonly mismatches: readonly (readonly PlannedMismatch[])[];
  /** Reads mismatches as sequences. Their trained tokens are those of the answers. */
  readonly readMismatches: (mismatches: readonly PlannedMismatch[]) => OptimizerBatch;
}

/** A prompt, paired with an answer to another prompt. */
export interface PlannedMismatch {
  /** Sequence from which the prompt is taken. */
  readonly prompt: PlannedSequence;
  /** Sequence from which the answer is taken. */
  readonly answer: PlannedSequence;
}

/** Functions that compute a job's metrics and judge its result. */
export interface JobMetrics {
  /** Metrics of the event `training_started`. */
  readonly start: Metrics;
  /** Returns the metrics of step `index`. */
  step(index: number, taken: TakenStep): Metrics;
  /** Returns the metrics of the event for a step: the step's own, and those that clients expect in each event. */
  event(index: number, step: Metrics): Metrics;
  /** Returns the metrics of the version and of `training_ended`. */
  version(steps: readonly Metrics[], seconds: number): Metrics;
  /**
   * Compares the checked sequences before the first step. Returns a warning, or null if there is no reason for one.
   *
   * @param recorded the checked sequences with their recorded log-probabilities
   */
  startWarning(recorded: OptimizerBatch, computed: ForwardResult): string | null;
  /**
   * Judges the model after the last step; null for kinds of jobs whose model is not judged.
   *
   * @param steps metrics of all steps of the job
   * @param compared the checked sequences, with the log-probabilities of the policy before the job
   * @param computed results for the same sequences after the last step
   */
  readonly result:
    | ((steps: readonly Metrics[], compared: OptimizerBatch, computed: ForwardResult) => JobResult)
    | null;
}

/** Judgement of a finished job's model. */
export interface JobResult {
  /** Metrics for the version and for `training_ended`, in addition to the means over the steps. */
  readonly metrics: Metrics;
  readonly warnings: readonly string[];
  /** Error message if the result may not become a version; null if it may. */
  readonly refusal: string | null;
}

/** Judgement for kinds of jobs whose model is not judged. */
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
 * @param passCount number of passes over the data that these batches contain
 */
export function stepCountsOf(batches: readonly PlannedBatch[], passCount: number): StepCounts {
  const sequencesMax = batches.reduce((most, { length }) => Math.max(most, length), 0);
  return { count: batches.length, passCount, sequencesMax };
}

/**
 * Sum of a job's learning rates below which its steps may change no answer. A step of AdamW changes no value by much
 * more than its learning rate. On the built-in model, a dozen jobs with a sum of 3e-4 changed no answer, and a job
 * with 6e-3 changed most.
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

/** Returns the shortest sequence of a job, which is the cheapest to compute; empty if there are no batches. */
export function shortestOf(batches: readonly PlannedBatch[]): PlannedBatch {
  const [first, ...others] = batches.flat();
  if (first === undefined) return [];
  return [others.reduce((one, other) => (other.tokenCount < one.tokenCount ? other : one), first)];
}

/**
 * Minimum and maximum number of tokens in the sample. A mean over fewer is unreliable; computing more takes noticeably
 * longer than a step.
 */
const [tokensMin, tokensMax] = [128, 1024];

/** Share of a job's tokens in the sample, unless the bounds require fewer or more. */
const tokenShare = 0.1;

/**
 * Returns sequences from all parts of a job: a tenth of its tokens, within the bounds; at least one sequence if there
 * are batches.
 */
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

// The plan of a job: its batches, its loss, the settings of its steps, its metrics and counts, and the sequences to
// compute before and after training. Each kind of job makes its own plan. A plan depends only on the job's data,
// configuration, settings and seed.
import type { JobCounts, StepCounts } from "../../../base/domain/job.ts";
import type { OptimizerBatch, PlannedBatch, PlannedSequence } from "../data/optimizer-batches.ts";
import type { PreferenceReference } from "../../../base/domain/preferences/preference-config.ts";
import type { Metrics } from "../job-metrics.ts";
import type { HeldOut } from "./held-out.ts";
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
  /** True to compute the old log-probabilities before the first step; false to use the recorded ones. */
  readonly precalculatesLogprobs: boolean;
  /**
   * Upper limit of a token's importance weight (its precalculated probability divided by its recorded one); 0 if tokens
   * are not weighted. Used only with `precalculatesLogprobs`.
   */
  readonly importanceTruncation: number;
  readonly loss: Loss;
  /**
   * For each batch, the indices of the sequences that the base model computes too, to measure the distance from it. If
   * the loss has a KL penalty, these are all sequences.
   */
  readonly comparedRows: readonly (readonly number[])[];
  /** Returns the optimizer settings of a step, given its 0-based index. */
  readonly optimizerStep: (index: number) => OptimizerStep;
  readonly counts: JobCounts;
  /** Warnings about the job that are known before the first step. */
  readonly warnings: readonly string[];
  /**
   * Sequences to compute before the first and after the last step, to see what the job changed. At least one if the job
   * has steps.
   */
  readonly checked: PlannedBatch;
  /** Data on which the job measures its loss without training on it; null if there is none. */
  readonly heldOut: HeldOut | null;
  /** Plan for computing the reference values of a preference loss; null for other losses. */
  readonly preferences: PreferencePlan | null;
  readonly metrics: JobMetrics;
}

export interface PreferencePlan {
  /** How to compute the reference policy's values before the first step; null if the loss uses no reference. */
  readonly reference: PreferenceReference | null;
  /**
   * For each batch, the mismatches (prompts with answers to other prompts) from which KTO's reference point is
   * estimated. Empty for other losses.
   */
  readonly mismatches: readonly (readonly PlannedMismatch[])[];
  /** Reads mismatches as sequences, in which the tokens of the answers are trained on. */
  readonly readMismatches: (mismatches: readonly PlannedMismatch[]) => OptimizerBatch;
}

/** A prompt paired with an answer to another prompt, from which KTO estimates its reference point. */
export interface PlannedMismatch {
  /** Sequence of which only the prompt is used. */
  readonly prompt: PlannedSequence;
  /** Sequence of which only the answer is used. */
  readonly answer: PlannedSequence;
}

/** Functions that compute a job's metrics and judge the trained model. */
export interface JobMetrics {
  /** Metrics of the event `training_started`. */
  readonly start: Metrics;
  /** Returns the metrics of the step with this 0-based index. */
  step(index: number, taken: TakenStep): Metrics;
  /** Returns the metrics of a step's event: the step's own metrics, and those that clients expect in each event. */
  event(index: number, step: Metrics): Metrics;
  /** Returns the metrics of the new version and of the event `training_ended`. */
  version(steps: readonly Metrics[], seconds: number): Metrics;
  /**
   * Compares recorded and computed log-probabilities of the checked sequences before the first step. Returns a warning
   * if they differ too much, otherwise null.
   *
   * @param recorded the checked sequences with their recorded log-probabilities
   */
  startWarning(recorded: OptimizerBatch, computed: ForwardResult): string | null;
  /**
   * Judges the model after the last step; null for kinds of jobs that do not judge the trained model.
   *
   * @param steps metrics of all steps of the job
   * @param compared the checked sequences, with the log-probabilities of the policy before the job
   * @param computed log-probabilities of the same sequences after the last step
   */
  readonly result:
    | ((steps: readonly Metrics[], compared: OptimizerBatch, computed: ForwardResult) => JobResult)
    | null;
}

/** Judgement on the model that a job trained. */
export interface JobResult {
  /** Metrics of the version and of the event `training_ended`, in addition to the means over the steps. */
  readonly metrics: Metrics;
  readonly warnings: readonly string[];
  /** Error message if the model must not become a version; null if it may. */
  readonly refusal: string | null;
}

/** Result for those kinds of jobs that do not judge the trained model. */
export const unjudged: JobResult = { metrics: {}, warnings: [], refusal: null };

/** The data and results of one optimizer step that was taken. */
export interface TakenStep {
  /** The sequences of the step, with their recorded log-probabilities. */
  readonly recorded: OptimizerBatch;
  /** The sequences of `recorded`, but with the log-probabilities that the loss uses. */
  readonly batch: OptimizerBatch;
  readonly comparison: BaseComparison;
  readonly gradient: ForwardBackwardResult;
  readonly step: OptimizerStepResult;
  /** Time in seconds from reading the batch to the updated weights. */
  readonly seconds: number;
}

/**
 * Counts a job's steps and their sequences.
 *
 * @param passCount number of passes over the data that the batches contain
 */
export function stepCountsOf(batches: readonly PlannedBatch[], passCount: number): StepCounts {
  const sequencesMax = batches.reduce((most, { length }) => Math.max(most, length), 0);
  return { count: batches.length, passCount, sequencesMax };
}

/**
 * Sum of a job's learning rates below which its steps may not change any answer, because AdamW moves a value by hardly
 * more than its learning rate. On the built-in model, a dozen jobs with a sum of 3e-4 changed no answer; a job with
 * 6e-3 changed most.
 */
const MOVE_MIN = 5e-4;

/**
 * Returns a warning if the job's steps are too small to have changed any answer; null if they are large enough.
 *
 * @param steps metrics of all steps of the job, including those of earlier attempts
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

/** Returns the shortest sequence of a job, because it is the cheapest to compute. Empty if there are no batches. */
export function shortestOf(batches: readonly PlannedBatch[]): PlannedBatch {
  const [first, ...others] = batches.flat();
  if (first === undefined) return [];
  return [others.reduce((one, other) => (other.tokenCount < one.tokenCount ? other : one), first)];
}

/**
 * Minimum and maximum number of tokens in the sample of `sampleOf`. Means over fewer are unreliable, and more would
 * take noticeably longer than a step.
 */
const [tokensMin, tokensMax] = [128, 1024];

/** Share of a job's tokens in the sample, within `tokensMin` and `tokensMax`. */
const tokenShare = 0.1;

/**
 * Returns a sample of sequences from all parts of a job, with a tenth of its tokens, within the bounds. At least one
 * sequence if there are batches.
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

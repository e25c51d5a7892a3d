// The contract between a training job and its trainer, which runs in this process or on a remote server. A trainer has
// one adapter, its optimizer, and the gradient accumulated since the last step. It knows nothing about jobs or rewards,
// and passes the suite in contract/check-trainer.ts.
import { invalid, ServiceError } from "../../base/domain/service-error.ts";
import type { PreferenceConfig } from "../../base/domain/preferences/preference-config.ts";
import type { TrainerProfile } from "../../base/domain/trainer/profile.ts";
import type { TrainingConfig } from "../../base/domain/training-config.ts";
import type { TokenSequence } from "../trajectories/sequences.ts";

/** The fields of a training configuration that determine the policy loss. The other fields determine data or steps. */
export const policyLossFields = [
  "epsilon",
  "epsilonHigh",
  "importanceSamplingLevel",
  "k2Tau",
  "klPenaltyCoefficient",
  "klPenaltySource",
  "maskProbRatio",
  "maxNegativeAdvantageImportanceSamplingWeight",
  "ppo",
] as const satisfies readonly (keyof TrainingConfig)[];

export type PolicyLossConfig = Pick<TrainingConfig, (typeof policyLossFields)[number]>;

/** The fields of a preference configuration that determine the preference loss. */
export const preferenceLossFields = [
  "loss",
  "beta",
  "labelSmoothing",
  "gamma",
  "lengthNormalized",
  "desirableWeight",
  "undesirableWeight",
] as const satisfies readonly (keyof PreferenceConfig)[];

export type PreferenceLossConfig = Pick<PreferenceConfig, (typeof preferenceLossFields)[number]>;

/**
 * The quantity that a gradient step minimizes: the sum of L_t · w_t over all trained tokens, divided by their number +
 * 1e-6.
 * - w_t is the weight of the token's sequence, times the token's own weight if it has one.
 * - L_t is the policy gradient loss (CISPO, arXiv:2506.13585, or PPO, arXiv:1707.06347), or the negative
 * log-probability, which ignores advantages.
 * - With a KL penalty β, the policy gradient uses A_t + β · (k̄ - k_t) as advantage. Here, k_t is the token's current
 * log-probability minus its reference log-probability, without gradient, and k̄ is the mean of k over all trained
 * tokens of the call. With the source `sample`, k_t uses the old log-probability, if known, in place of the current
 * one.
 * - A preference loss is the sum of f(m_p) · w_p over all preferences, divided by their number. m_p is the margin
 * defined in losses/preference.ts, and w_p the weight of the preference's first sequence. It ignores advantages, old
 * log-probabilities and token weights.
 */
export type Loss =
  | { readonly kind: "policy"; readonly config: PolicyLossConfig }
  | { readonly kind: "cross-entropy" }
  | { readonly kind: "preference"; readonly config: PreferenceLossConfig };

/**
 * Returns the policy loss that a job's configuration describes. It contains only the fields that determine the loss,
 * because each different loss needs a program of its own.
 */
export function policyLossOf(config: TrainingConfig): Loss & { readonly kind: "policy" } {
  const fields = policyLossFields.map((field) => [field, config[field]]);
  return { kind: "policy", config: Object.fromEntries(fields) as PolicyLossConfig }; // Safe cast: these are exactly its fields.
}

/**
 * Returns the loss that a preference job's configuration describes. It contains only the fields that determine the
 * loss, because each different loss needs a program of its own.
 */
export function preferenceLossOf(config: PreferenceConfig): Loss & { readonly kind: "preference" } {
  const fields = preferenceLossFields.map((field) => [field, config[field]]);
  return { kind: "preference", config: Object.fromEntries(fields) as PreferenceLossConfig }; // Safe cast: these are exactly its fields.
}

/** A sequence of tokens, with the advantage of its trajectory, and its weight within the job. */
export interface TrainingSequence extends TokenSequence {
  readonly advantage: number;
  readonly weight: number;
  /**
   * Finite factor of each trained token; all factors are 1 if absent. A token's weight in the loss is its factor times
   * the sequence's weight. Factors may be negative, so that with cross-entropy a caller can set the gradient of each
   * log-probability.
   */
  readonly tokenWeights?: Float32Array;
  /**
   * For each trained position, the token whose log-probability counts there instead of the token in `tokenIds`. Absent
   * if the two are equal everywhere. Later positions are computed from `tokenIds` in any case.
   */
  readonly targetIds?: Int32Array;
  /**
   * Log-probabilities under the reference (the base model or another model), finite at trained tokens and ignored
   * elsewhere. Present only for losses that use a reference ({@link hasReference}).
   */
  readonly referenceLogprobs?: Float32Array;
  /** The preference to which the sequence belongs; present only for a preference loss. */
  readonly preference?: PreferenceSide;
  /** Index of the trajectory group to which the sequence belongs. Sequences of one group usually share a prefix. */
  readonly group: number;
}

/** Returns the tokens whose log-probabilities count, by position. */
export function targetsOf({
  tokenIds,
  targetIds = tokenIds,
}: Pick<TrainingSequence, "tokenIds" | "targetIds">): Int32Array {
  return targetIds;
}

/** The side of a preference to which a sequence belongs. */
export interface PreferenceSide {
  /**
   * Index of the preference; all sequences of a preference have the same. A preference has two answers to one prompt,
   * or for KTO a single answer.
   */
  readonly index: number;
  /** True if the sequence belongs to the preferred answer. */
  readonly isChosen: boolean;
  /**
   * KTO's reference point z in nats, an estimate of how far the model has moved from the reference; KTO compares each
   * answer's log ratio with it. At least 0, equal for all sequences of a call, and 0 if absent.
   */
  readonly referencePoint?: number;
}

/** Options of each call of a trainer. */
export interface TrainerCall {
  /**
   * Id of the call, unique within the trainer. Repeating a call that has succeeded changes nothing and returns the
   * earlier result, which the caller may have lost. A trainer needs to remember only the last 64 ids.
   */
  readonly id: string;
  /** If this signal aborts, the call rejects with `cancelled` and leaves the trainer unchanged. */
  readonly signal: AbortSignal;
}

export interface ForwardOptions {
  /**
   * False to leave out the adapter and compute the base model's log-probabilities. The call throws `unsupported` if the
   * trainer cannot do that. Default true.
   */
  readonly hasAdapter?: boolean;
  /** True to compute with the base model in float32, even if training uses quantized weights. Default false. */
  readonly isFloat32?: boolean;
}

export interface ForwardResult {
  /** Natural-log probabilities of the trained tokens, one array per sequence, in the order of the call's data. */
  readonly logprobs: readonly Float32Array[];
}

export interface ForwardBackwardResult extends ForwardResult {
  readonly loss: number;
  /**
   * Measured values, all finite, by name. `entropy` is optional: the model's entropy in nats at trained tokens,
   * weighted like the loss.
   */
  readonly metrics: Readonly<Record<string, number>>;
}

/** Settings of one AdamW step (Loshchilov and Hutter, 2019), with decoupled weight decay and bias correction. */
export interface OptimizerStep {
  /** Learning rate; above 0. */
  readonly learningRate: number;
  /** Decay rate of the running mean of gradients, in [0, 1). */
  readonly beta1: number;
  /** Decay rate of the running mean of squared gradients, in [0, 1). */
  readonly beta2: number;
  /** Constant that is added to the root of the second moment; above 0. */
  readonly epsilon: number;
  /** Weight decay, at least 0. AdamW multiplies it with the learning rate. */
  readonly weightDecay: number;
  /** Global norm to which a larger accumulated gradient is scaled down; 0 to never scale. */
  readonly gradientNormMax: number;
}

export interface OptimizerStepResult {
  /**
   * Measured values, all finite, by name. `gradient_norm` is optional: the global norm of all gradients before
   * clipping.
   */
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * An open trainer. Calls may overlap; they take effect in the order in which they were made. A call that rejects
 * changes nothing, and rejects with a ServiceError:
 * - `invalid` for data or calls that make no sense
 * - `unsupported` for requests beyond this trainer's abilities, or numbers that are no longer finite
 * - `cancelled` if the signal aborted
 * - `unavailable` if the trainer is closed or unreachable
 */
export interface Trainer {
  /** Returns the log-probabilities of the sequences under the current adapter. Changes nothing. */
  forward(
    data: readonly TrainingSequence[],
    call: TrainerCall,
    options?: ForwardOptions,
  ): Promise<ForwardResult>;
  /**
   * Adds the gradient of the loss over all of `data` to the accumulated gradient. The trainer may split the sequences
   * into microbatches that fit into its memory; the gradient is the same as without splitting.
   */
  forwardBackward(
    data: readonly TrainingSequence[],
    loss: Loss,
    call: TrainerCall,
  ): Promise<ForwardBackwardResult>;
  /**
   * Updates the adapter with the accumulated gradient, and then clears the gradient. Throws `invalid` if no gradient is
   * accumulated.
   */
  optimStep(step: OptimizerStep, call: TrainerCall): Promise<OptimizerStepResult>;
  /**
   * Saves everything that `open` needs to continue exactly from this point, except the accumulated gradient.
   *
   * @param name folder of the version or snapshot relative to the data folder, such as `adapters/<model>/<step>`. A
   * trainer that keeps files stores them there. Saving under the same name again makes the earlier state invalid.
   * @returns key of the state for `open` and `discard`, in a format that only the trainer interprets
   */
  saveState(name: string, call: TrainerCall): Promise<string>;
  /**
   * Writes only the adapter, in the PEFT layout, for serving. Throws `unsupported` if a number of the adapter is not
   * finite, because the model could not answer with such an adapter.
   *
   * @param folder an existing, empty folder
   */
  exportAdapter(folder: string, call: TrainerCall): Promise<void>;
  /** Frees the trainer's resources, but keeps saved states. Closing a closed trainer does nothing. */
  close(): Promise<void>;
}

/** The starting point of a trainer. */
export type TrainerStart =
  /** The base model with a new adapter, which changes nothing yet. The seed determines the adapter's values. */
  | { readonly kind: "new"; readonly seed: string }
  /**
   * An adapter's folder in the PEFT layout, with a fresh optimizer. The trainer throws `unsupported` if it cannot start
   * from an adapter.
   */
  | { readonly kind: "adapter"; readonly folder: string }
  /** A state that this trainer saved. If `keepsOptimizer` is false, the optimizer starts afresh. */
  | { readonly kind: "state"; readonly state: string; readonly keepsOptimizer: boolean };

export interface TrainerProvider {
  readonly profile: TrainerProfile;
  /** Length of the longest trainable sequence, in tokens. */
  readonly sequenceLengthMax: number;
  /**
   * Refuses a job whose gradients would exceed the trainer's memory limit, before anything is computed. Absent if the
   * trainer cannot estimate its memory.
   *
   * @param batches the job's batches; iterated once for each layout that is tried, with one batch in memory at a time
   * @returns a sentence to the job's creator if the job must save memory in a way that makes it much slower; else null
   * @throws ServiceError `unsupported`; the message states the estimate, the limit, the excess and a remedy
   */
  readonly requireMemory?: (
    batches: Iterable<readonly TrainingSequence[]>,
    loss: Loss,
  ) => Promise<string | null>;
  /**
   * Opens a trainer. Throws `invalid`, `not_found` or `unsupported` if the adapter or state cannot be used, and
   * `cancelled` if the signal aborted.
   *
   * @param run run for which the trainer is opened. Its id stays the same when another process takes over a lost run;
   * opening the run again closes everything that the lost process had opened.
   */
  open(start: TrainerStart, run: TrainerCall): Promise<Trainer>;
  /** Removes a state that this trainer saved. A missing state is no error. No open trainer may be using the state. */
  discard(state: string): Promise<void>;
}

/**
 * Checks training data in the way that all trainers must.
 *
 * @throws ServiceError `invalid` if there is no sequence, one is too long, or one has nothing to train
 */
export function requireTrainable(
  data: readonly TrainingSequence[],
  { sequenceLengthMax }: Pick<TrainerProvider, "sequenceLengthMax">,
): void {
  if (data.length === 0) throw invalid("There are no sequences to compute; give at least one.");
  for (const [index, { tokenIds, mask }] of data.entries()) {
    const { length } = tokenIds;
    if (length > sequenceLengthMax)
      throw invalid(`Sequence ${index} has ${length} tokens; this trainer takes ${sequenceLengthMax}.`);
    if (mask[0] === 1)
      throw invalid(`The first token of sequence ${index} trains; nothing predicts it, so mask it.`);
    if (!mask.includes(1)) throw invalid(`No token of sequence ${index} trains; leave it out.`);
  }
}

/** True if a loss compares the policy with the base model. */
export function hasKlPenalty(loss: Loss): boolean {
  return loss.kind === "policy" && loss.config.klPenaltyCoefficient > 0;
}

/** True if a loss uses `referenceLogprobs`. */
export function hasReference(loss: Loss): boolean {
  return hasKlPenalty(loss) || (loss.kind === "preference" && loss.config.loss !== "simpo");
}

/**
 * Checks that sequences have the inputs that the loss needs. {@link requireTrainable} checks that they have trained
 * tokens at all.
 *
 * @throws ServiceError `invalid` if a trained token lacks a reference log-probability that the loss needs, a sequence
 * belongs to no preference under a preference loss, or a preference lacks an answer
 */
export function requireLossInputs(data: readonly TrainingSequence[], loss: Loss): void {
  if (loss.kind === "preference") requirePreferences(data, loss.config);
  if (!hasReference(loss)) return;
  for (const [index, { mask, referenceLogprobs }] of data.entries()) {
    const isKnown = mask.every((trains, at) => trains === 0 || Number.isFinite(referenceLogprobs?.[at]));
    if (isKnown) continue;
    throw invalid(`Sequence ${index} has no reference log-probabilities, which the loss needs.`);
  }
}

/**
 * Checks that each sequence belongs to a preference, and that each preference has a chosen and a rejected answer; for
 * KTO, only one of the two.
 */
function requirePreferences(data: readonly TrainingSequence[], { loss }: PreferenceLossConfig): void {
  const sides = new Map<number, Set<boolean>>();
  for (const [row, { preference }] of data.entries()) {
    if (preference === undefined)
      throw invalid(`Sequence ${row} belongs to no preference, which the loss needs.`);
    const { index, isChosen } = preference;
    sides.set(index, (sides.get(index) ?? new Set()).add(isChosen));
  }
  const sideCount = loss === "kto" ? 1 : 2;
  for (const [index, { size }] of sides)
    if (size !== sideCount)
      throw invalid(`Preference ${index} has answers of ${size} kinds; the loss ${loss} takes ${sideCount}.`);
}

/**
 * Checks that all numbers of an adapter are finite in the precision of its file.
 *
 * @throws ServiceError `unsupported` if one is not
 */
export function requireFiniteAdapter(matrices: ReadonlyMap<string, Float32Array>): void {
  for (const [name, values] of matrices) {
    if (values.every(Number.isFinite)) continue;
    throw new ServiceError({
      code: "unsupported",
      message: `The adapter's ${name} is no longer finite, so the job makes no version; lower the learning rate.`,
    });
  }
}

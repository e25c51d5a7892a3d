// The contract between a training job and the trainer that computes: in this process, or a service elsewhere.
// A trainer holds one adapter, its optimizer and the gradient accumulated since the last step; it knows nothing of
// jobs or rewards. The suite that every trainer passes is contract/check-trainer.ts.
import { invalid, ServiceError } from "../../base/domain/service-error.ts";
import type { PreferenceConfig } from "../../base/domain/preferences/preference-config.ts";
import type { TrainerProfile } from "../../base/domain/trainer/profile.ts";
import type { TrainingConfig } from "../../base/domain/training-config.ts";
import type { TokenSequence } from "../trajectories/sequences.ts";

/** What of a training configuration shapes the policy loss; everything else shapes data or steps. */
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

/** What of a preference configuration shapes its loss. */
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
 * What a gradient step makes smaller: the sum of L_t · w_t over the trained tokens of all given sequences, divided by
 * their number + 1e-6, with w_t the weight of the token's sequence, times its own where it has one. L_t is the policy
 * gradient's loss (CISPO, arXiv:2506.13585, or PPO, arXiv:1707.06347), or the negative log-probability, which ignores
 * advantages.
 *
 * With a KL penalty β every advantage A_t of the policy gradient is A_t + β · (k̄ - k_t), where k_t is the token's current
 * log-probability less its reference log-probability, without gradient, and k̄ the mean of k over all trained tokens given.
 * With the source `sample` its old log-probability stands there in place of the current one, where it is known.
 *
 * A loss of preferences is a number for each preference and not for each token: the sum of f(m_p) · w_p over the preferences
 * of all given sequences, divided by their number, with m_p the margin of losses/preference.ts and w_p the weight of its first
 * sequence. It ignores advantages, old log-probabilities and weights of tokens.
 */
export type Loss =
  | { readonly kind: "policy"; readonly config: PolicyLossConfig }
  | { readonly kind: "cross-entropy" }
  | { readonly kind: "preference"; readonly config: PreferenceLossConfig };

/** The policy loss of a job's configuration, and nothing else of it: programs are made for a loss. */
export function policyLossOf(config: TrainingConfig): Loss & { readonly kind: "policy" } {
  const fields = policyLossFields.map((field) => [field, config[field]]);
  return { kind: "policy", config: Object.fromEntries(fields) as PolicyLossConfig }; // Exactly its fields.
}

/** The loss of a preference job's configuration, likewise. */
export function preferenceLossOf(config: PreferenceConfig): Loss & { readonly kind: "preference" } {
  const fields = preferenceLossFields.map((field) => [field, config[field]]);
  return { kind: "preference", config: Object.fromEntries(fields) as PreferenceLossConfig }; // Exactly its fields.
}

/** A sequence with what its trajectory earned, weighed over the whole job. */
export interface TrainingSequence extends TokenSequence {
  readonly advantage: number;
  readonly weight: number;
  /** At trained tokens: what each counts for beside the sequence's weight, finite and at least 0; 1 where absent. */
  readonly tokenWeights?: Float32Array;
  /**
   * At trained tokens: what the base model gives them, or another reference that preferences are compared with, finite; what
   * is elsewhere does not count. For losses that compare alone ({@link hasReference}).
   */
  readonly referenceLogprobs?: Float32Array;
  /** For a loss of preferences alone. */
  readonly preference?: PreferenceSide;
  /** Index of the trajectory group it came from: sequences of one group tend to begin alike. */
  readonly group: number;
}

/** Whose answer a sequence is, or a part of. */
export interface PreferenceSide {
  /** The same of all sequences of one preference: two answers to one prompt, or with KTO a single one. */
  readonly index: number;
  /** Whether people preferred it. */
  readonly isChosen: boolean;
  /**
   * At least 0, in nats, the same for all of a call: KTO's z, how far the model has moved from the reference, which an
   * answer's log ratio is compared with. 0 where absent.
   */
  readonly referencePoint?: number;
}

/** What every call brings along. */
export interface TrainerCall {
  /**
   * Unique within the trainer. A repeated call with the id of one that succeeded changes nothing and returns the earlier
   * result, so that a caller which lost an answer can ask again. A trainer need not remember more than the last 64.
   */
  readonly id: string;
  /** Aborted, the call rejects with `cancelled` and leaves the trainer as it was. */
  readonly signal: AbortSignal;
}

export interface ForwardOptions {
  /** False leaves the adapter out: the base model's log-probabilities. `unsupported` where the trainer has no base pass. */
  readonly hasAdapter?: boolean;
  /** Whether over the base in float32, in whatever precision it is trained over. Default false. */
  readonly isFloat32?: boolean;
}

export interface ForwardResult {
  /** One array per sequence, in their order: natural-log probabilities of its trained tokens, in theirs. */
  readonly logprobs: readonly Float32Array[];
}

export interface ForwardBackwardResult extends ForwardResult {
  readonly loss: number;
  /** Optional: `entropy`, the model's at trained tokens in nats, weighted as the loss is. All finite. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** One step of AdamW (Loshchilov and Hutter, 2019) with decoupled weight decay and bias correction. */
export interface OptimizerStep {
  /** Above 0. */
  readonly learningRate: number;
  /** [0, 1): how much of the mean of gradients is kept. */
  readonly beta1: number;
  /** [0, 1): how much of the mean of squared gradients is kept. */
  readonly beta2: number;
  /** Above 0, added to the root of the second moment. */
  readonly epsilon: number;
  /** At least 0, times the learning rate. */
  readonly weightDecay: number;
  /** The accumulated gradient is scaled down to this global norm; 0 never scales. */
  readonly gradientNormMax: number;
}

export interface OptimizerStepResult {
  /** Optional: `gradient_norm`, of all gradients together before clipping. All finite. */
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Calls may overlap; they take effect in the order in which they were made. Every method rejects with a ServiceError:
 * `invalid` for data or calls that make no sense, `unsupported` for what this trainer cannot do or numbers that stop
 * being finite, `cancelled` when the signal aborted, `unavailable` when it is closed or cannot be reached. A call that
 * rejects changes nothing.
 */
export interface Trainer {
  /** Current log-probabilities; changes nothing. */
  forward(
    data: readonly TrainingSequence[],
    call: TrainerCall,
    options?: ForwardOptions,
  ): Promise<ForwardResult>;
  /**
   * Adds the gradient of the loss over all of `data` to what is accumulated. The trainer computes in parts as small as
   * its memory wants, whole sequences each, and the result is that of all at once.
   */
  forwardBackward(
    data: readonly TrainingSequence[],
    loss: Loss,
    call: TrainerCall,
  ): Promise<ForwardBackwardResult>;
  /** Changes the adapter by the accumulated gradient and clears it; `invalid` when nothing is accumulated. */
  optimStep(step: OptimizerStep, call: TrainerCall): Promise<OptimizerStepResult>;
  /**
   * Keeps all that `open` needs to go on exactly from here; what is accumulated belongs to no version and is not kept.
   *
   * @param name of the version's or snapshot's folder, such as `adapters/<model>/<step>`, relative to the data folder: a
   *   trainer that keeps files puts them there. Saved under it again, nobody asks for the earlier state any more.
   * @returns its own word for the state, which `open` and `discard` take; nobody else reads it
   */
  saveState(name: string, call: TrainerCall): Promise<string>;
  /**
   * Writes the adapter alone, in the PEFT layout, for whoever serves it. `unsupported` when a number of it is not finite:
   * such a version could not answer.
   *
   * @param folder an existing one, empty
   */
  exportAdapter(folder: string, call: TrainerCall): Promise<void>;
  /** Frees what it holds; idempotent. States that it saved stay. */
  close(): Promise<void>;
}

/** Where a trainer starts. */
export type TrainerStart =
  /** From the base model, with an adapter that changes nothing yet; the seed decides it. */
  | { readonly kind: "new"; readonly seed: string }
  /** From an adapter's folder in the PEFT layout, with a new optimizer. `unsupported` where the trainer takes none. */
  | { readonly kind: "adapter"; readonly folder: string }
  /** Where a state was saved; with a new optimizer where the old one is not kept. */
  | { readonly kind: "state"; readonly state: string; readonly keepsOptimizer: boolean };

export interface TrainerProvider {
  readonly profile: TrainerProfile;
  /** Longest sequence that can train, in tokens. */
  readonly sequenceLengthMax: number;
  /**
   * Refuses batches whose gradients would need more memory than trainers may take, before anything is computed. Absent of
   * trainers that cannot know.
   *
   * @param batches read as often as a trainer tries to need less, one in memory at a time
   * @throws ServiceError `unsupported` with what is too large, the estimate, the limit and the cure
   */
  readonly requireMemory?: (batches: Iterable<readonly TrainingSequence[]>, loss: Loss) => Promise<void>;
  /**
   * Throws `invalid`, `not_found` or `unsupported` when the adapter or the state cannot be used, `cancelled` when the signal
   * aborted.
   *
   * @param run its id outlives processes: whoever takes up a run that another process lost opens it under the same id, and
   *   what that one had opened is given up
   */
  open(start: TrainerStart, run: TrainerCall): Promise<Trainer>;
  /** Removes a state of its own; one that is gone is no error. No trainer may be open on it. */
  discard(state: string): Promise<void>;
}

/**
 * What every trainer refuses alike.
 *
 * @throws ServiceError `invalid` when there is no sequence, or one that is too long or that has nothing to train
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

/** Whether a loss compares the policy with the base model. */
export function hasKlPenalty(loss: Loss): boolean {
  return loss.kind === "policy" && loss.config.klPenaltyCoefficient > 0;
}

/** Whether a loss takes `referenceLogprobs`. */
export function hasReference(loss: Loss): boolean {
  return hasKlPenalty(loss) || (loss.kind === "preference" && loss.config.loss !== "simpo");
}

/**
 * What a loss needs of sequences beside tokens that train.
 *
 * @throws ServiceError `invalid` when the loss compares with a reference and a trained token has no log-probability of it, or
 *   when it is of preferences and a sequence is of none, or a preference lacks an answer
 */
export function requireLossInputs(data: readonly TrainingSequence[], loss: Loss): void {
  if (loss.kind === "preference") requirePreferences(data, loss.config);
  if (!hasReference(loss)) return;
  for (const [index, { mask, referenceLogprobs }] of data.entries()) {
    const isKnown = mask.every((trains, at) => trains === 0 || Number.isFinite(referenceLogprobs?.[at]));
    if (isKnown) continue;
    throw invalid(`Sequence ${index} has no reference log-probabilities, which the loss compares with.`);
  }
}

/** With KTO each answer is a preference of its own; else there is a chosen one and a rejected one. */
function requirePreferences(data: readonly TrainingSequence[], { loss }: PreferenceLossConfig): void {
  const sides = new Map<number, Set<boolean>>();
  for (const [row, { preference }] of data.entries()) {
    if (preference === undefined)
      throw invalid(`Sequence ${row} is of no preference, which the loss compares.`);
    const { index, isChosen } = preference;
    sides.set(index, (sides.get(index) ?? new Set()).add(isChosen));
  }
  const sideCount = loss === "kto" ? 1 : 2;
  for (const [index, { size }] of sides)
    if (size !== sideCount)
      throw invalid(`Preference ${index} has answers of ${size} kinds; the loss ${loss} takes ${sideCount}.`);
}

/** @throws ServiceError `unsupported` when a number of the adapter, as its file holds it, is not finite */
export function requireFiniteAdapter(matrices: ReadonlyMap<string, Float32Array>): void {
  for (const [name, values] of matrices) {
    if (values.every(Number.isFinite)) continue;
    throw new ServiceError({
      code: "unsupported",
      message: `The adapter's ${name} is not finite any more, so no version is made of it; lower the learning rate.`,
    });
  }
}

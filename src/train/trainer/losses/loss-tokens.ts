// Inputs and results of a loss for one sequence. Each array has one value per trained token, in order.
import { trainedIndices } from "../../trajectories/sequences.ts";
import type { TrainingSequence } from "../trainer.ts";

export interface LossTokens {
  /** Log-probabilities under the current policy. */
  readonly logprobs: ArrayLike<number>;
  /** Log-probabilities under the sampling policy; NaN where unknown. */
  readonly oldLogprobs: ArrayLike<number>;
  /** Log-probabilities under the base model; NaN where they were not computed. */
  readonly referenceLogprobs: ArrayLike<number>;
  /** Weight of each token in the loss. */
  readonly weights: ArrayLike<number>;
  readonly advantage: number;
}

export interface TokenLosses {
  /** Loss of each token before weighting. */
  readonly losses: readonly number[];
  /**
   * Derivative of the sequence's weighted loss by each log-probability. The gradient is the sum of slope · ∇ log π over
   * the tokens.
   */
  readonly slopes: readonly number[];
}

/** The fields of a training sequence that a loss uses. */
export type LossSequence = Pick<
  TrainingSequence,
  "mask" | "oldLogprobs" | "advantage" | "weight" | "tokenWeights" | "referenceLogprobs" | "preference"
>;

export interface LossInput {
  readonly sequence: LossSequence;
  /** Current log-probabilities of the sequence's trained tokens. */
  readonly logprobs: ArrayLike<number>;
}

/** Loss of a whole batch, and its derivatives. */
export interface BatchLoss {
  readonly loss: number;
  /** Derivative of the loss by each log-probability, one list per sequence. */
  readonly slopes: readonly (readonly number[])[];
}

/**
 * Collects the values of a sequence's trained tokens.
 *
 * @param logprobs current log-probabilities of the trained tokens
 */
export function lossTokensOf(sequence: LossSequence, logprobs: ArrayLike<number>): LossTokens {
  const { oldLogprobs, referenceLogprobs, tokenWeights, weight, advantage } = sequence;
  const indices = trainedIndices(sequence);
  return {
    logprobs,
    oldLogprobs: indices.map((at) => oldLogprobs[at]),
    referenceLogprobs: indices.map((at) => referenceLogprobs?.[at] ?? NaN),
    weights: indices.map((at) => weight * (tokenWeights?.[at] ?? 1)),
    advantage,
  };
}

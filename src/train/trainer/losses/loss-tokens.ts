// What a loss sees of a sequence, and what it gives for it: numbers of the trained tokens, in their order.
import { trainedIndices } from "../../trajectories/sequences.ts";
import type { TrainingSequence } from "../trainer.ts";

export interface LossTokens {
  /** What the model gives now. */
  readonly logprobs: ArrayLike<number>;
  /** What the policy that sampled gave, NaN where that is not known. */
  readonly oldLogprobs: ArrayLike<number>;
  /** What the base model gives, NaN where nobody asked. */
  readonly referenceLogprobs: ArrayLike<number>;
  /** What each token counts for. */
  readonly weights: ArrayLike<number>;
  readonly advantage: number;
}

export interface TokenLosses {
  /** Before weights. */
  readonly losses: readonly number[];
  /** Of the weighted sum of the sequence's losses, by each log-probability: the gradient is the sum of slope · ∇ log π. */
  readonly slopes: readonly number[];
}

/** What of a sequence a loss sees. */
export type LossSequence = Pick<
  TrainingSequence,
  "mask" | "oldLogprobs" | "advantage" | "weight" | "tokenWeights" | "referenceLogprobs" | "preference"
>;

export interface LossInput {
  readonly sequence: LossSequence;
  /** Of its trained tokens. */
  readonly logprobs: ArrayLike<number>;
}

/** Of a whole batch. */
export interface BatchLoss {
  readonly loss: number;
  /** By each log-probability, a list for each sequence. */
  readonly slopes: readonly (readonly number[])[];
}

/** @param logprobs of the trained tokens */
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

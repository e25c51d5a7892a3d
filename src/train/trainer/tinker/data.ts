// Converts sequences to a server's data and its results back. The server counts targets, which follow their inputs;
// this side counts trained tokens.
import { trainedIndices } from "../../trajectories/sequences.ts";
import type { TrainingSequence } from "../trainer.ts";
import type { ServerKind } from "./server-kinds.ts";
import type { Datum } from "./wire/encoding.ts";

/** A sequence with the weights of its log-probabilities in the gradient, at its trained tokens. */
export interface SlopedSequence {
  readonly sequence: TrainingSequence;
  /** Current log-probabilities. */
  readonly logprobs: ArrayLike<number>;
  /** Derivative of the loss by each log-probability: the gradient is the sum of slope · ∇ log π. */
  readonly slopes: ArrayLike<number>;
}

/** Returns a datum for a forward pass only. */
export function datumOf({ tokenIds, mask }: Pick<TrainingSequence, "tokenIds" | "mask">): Datum {
  return {
    inputs: tokenIds.slice(0, -1),
    targets: tokenIds.slice(1),
    weights: Float32Array.from(mask.subarray(1)),
  };
}

/**
 * Selects the values of trained targets.
 * @param values one per target
 */
export function atTrainedTargets(
  sequence: Pick<TrainingSequence, "mask">,
  values: Float32Array,
): Float32Array {
  return Float32Array.from(trainedIndices(sequence), (index) => values[index - 1]);
}

/**
 * Expresses the gradient by the server's loss `importance_sampling`, which is −r · A per target, with r the ratio of
 * the current to the given probability. With the current one given, r is 1 and the gradient −A · ∇ log π, so A is the
 * negative slope. If the server averages, A also contains the divisors: the sum of a sequence's weights (1 per trained
 * target) and the number of sequences.
 *
 * @param sequences all of them since the last optimizer step
 */
export function gradientData(
  sequences: readonly SlopedSequence[],
  { normalization }: Pick<ServerKind, "normalization">,
): readonly Datum[] {
  return sequences.map(({ sequence, logprobs, slopes }) => {
    const datum = datumOf(sequence);
    const factor = normalization === "sum" ? 1 : slopes.length * sequences.length;
    const loss = {
      logprobs: new Float32Array(datum.targets.length),
      advantages: new Float32Array(datum.targets.length),
    };
    for (const [at, index] of trainedIndices(sequence).entries()) {
      loss.logprobs[index - 1] = logprobs[at];
      loss.advantages[index - 1] = -slopes[at] * factor;
    }
    return { ...datum, loss };
  });
}

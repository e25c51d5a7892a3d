// Converts sequences to the data format of a Tinker server, and the server's results back. The server expects one value
// per target, which is the token after an input token. Hone has one value per trained token.
import { trainedIndices } from "../../trajectories/sequences.ts";
import { targetsOf, type TrainingSequence } from "../trainer.ts";
import type { ServerKind } from "./server-kinds.ts";
import type { Datum } from "./wire/encoding.ts";

/** A sequence, and the derivative of the loss by the log-probability of each trained token. */
export interface SlopedSequence {
  readonly sequence: TrainingSequence;
  /** Current log-probability of each trained token. */
  readonly logprobs: ArrayLike<number>;
  /** Derivative of the loss by each log-probability. The gradient is the sum of slope · ∇ log π over the tokens. */
  readonly slopes: ArrayLike<number>;
}

/** Returns a sequence in the server's format, for a forward pass without a gradient. */
export function datumOf(sequence: Pick<TrainingSequence, "tokenIds" | "targetIds" | "mask">): Datum {
  return {
    inputs: sequence.tokenIds.slice(0, -1),
    targets: targetsOf(sequence).slice(1),
    weights: Float32Array.from(sequence.mask.subarray(1)),
  };
}

/**
 * Picks the values of the trained tokens from those of all targets.
 *
 * @param values one value per target
 */
export function atTrainedTargets(
  sequence: Pick<TrainingSequence, "mask">,
  values: Float32Array,
): Float32Array {
  return Float32Array.from(trainedIndices(sequence), (index) => values[index - 1]);
}

/**
 * Returns data for which the server's loss `importance_sampling` has the gradient that the slopes describe. This loss
 * is −r · A per target, where r is the current probability divided by a given one. Here the given one is the current
 * one, so r is 1 and the gradient is −A · ∇ log π; A is therefore the negative slope.
 * - If the server averages, A also contains its divisors: the sum of a sequence's weights (1 per trained target), and
 * the number of sequences.
 *
 * @param sequences all sequences since the last optimizer step
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

// Sequences as a server takes them, and what it says of them as ours: there a target is a token behind its inputs, here
// numbers are those of the tokens that train.
import { trainedIndices } from "../../trajectories/sequences.ts";
import type { TrainingSequence } from "../trainer.ts";
import type { ServerKind } from "./server-kinds.ts";
import type { Datum } from "./wire/encoding.ts";

/** A sequence with how its log-probabilities count in the gradient, at its trained tokens. */
export interface SlopedSequence {
  readonly sequence: TrainingSequence;
  /** What they are now. */
  readonly logprobs: ArrayLike<number>;
  /** Of the loss by each: the gradient is the sum of slope · ∇ log π. */
  readonly slopes: ArrayLike<number>;
}

/** To be computed forwards alone. */
export function datumOf({ tokenIds, mask }: Pick<TrainingSequence, "tokenIds" | "mask">): Datum {
  return {
    inputs: tokenIds.slice(0, -1),
    targets: tokenIds.slice(1),
    weights: Float32Array.from(mask.subarray(1)),
  };
}

/** Of all targets those that train. @param values one for each target */
export function atTrainedTargets(
  sequence: Pick<TrainingSequence, "mask">,
  values: Float32Array,
): Float32Array {
  return Float32Array.from(trainedIndices(sequence), (index) => values[index - 1]);
}

/**
 * The same gradient as a server's loss `importance_sampling`, whose term of a target is −r · A with r the ratio of the
 * current probability to the given one: with the current one given r is 1 and its gradient −A · ∇ log π, so that A is the
 * negative slope. Where a server makes means of sums, A makes up for that: it divides by the weights of a sequence, which
 * are 1 where a target trains, and by how many sequences there are.
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

// Computes preference losses like TRL, in double precision. Each is a function of a preference's margin. The margin is
// a weighted sum of log-probabilities, so that gradients can be computed in parts.
// - DPO (arXiv:2305.18290), with the label smoothing of cDPO (Mitchell, "A note on DPO with noisy preferences", 2023)
// - IPO (arXiv:2310.12036)
// - SimPO (arXiv:2405.14734)
// - KTO (arXiv:2402.01306)
import { present, unreachable } from "../../../base/domain/assert.ts";
import type { PreferenceLossConfig } from "../trainer.ts";
import type { BatchLoss, LossInput } from "./loss-tokens.ts";

/** One sequence, reduced to the fields that a preference loss uses. */
export type PreferenceInput = Pick<LossInput, "logprobs"> & {
  readonly sequence: Pick<LossInput["sequence"], "mask" | "preference" | "referenceLogprobs" | "weight">;
};

/** The fields of a sequence that determine its contribution to the margin of its preference. */
type Side = PreferenceInput["sequence"];

export interface Preference {
  readonly index: number;
  /**
   * Sum of log π − log π_ref over the chosen answer, minus the same sum over the rejected answer. Losses without a
   * reference use log π; length-normalized losses use means over tokens. For KTO: the sum over the only answer minus
   * the reference point, negated for an undesirable answer.
   */
  readonly margin: number;
  readonly weight: number;
}

/**
 * Computes the preference loss of a batch, and its derivative by each log-probability.
 *
 * @param batch sequences that `requireLossInputs` has accepted
 */
export function preferenceBatchLoss(
  batch: readonly PreferenceInput[],
  config: PreferenceLossConfig,
): BatchLoss {
  const sequences = batch.map(({ sequence }) => sequence);
  const factors = marginFactors(sequences, config);
  const preferences = preferencesOf(batch, config);
  const count = preferences.size;
  const losses = new Map(
    [...preferences].map(([index, { margin, weight }]) => {
      const { loss, slope } = lossOfMargin(margin, config);
      return [index, { loss: (weight * loss) / count, slope: (weight * slope) / count }];
    }),
  );
  return {
    loss: [...losses.values()].reduce((sum, { loss }) => sum + loss, 0),
    slopes: batch.map(({ sequence, logprobs }, row) => {
      const { slope } = present(losses.get(sideOf(sequence).index), "the loss of a preference");
      return Array.from(logprobs, () => slope * factors[row]);
    }),
  };
}

/** Returns the preferences of a batch by their indices, in the order in which their first sequences occur. */
export function preferencesOf(
  batch: readonly PreferenceInput[],
  config: PreferenceLossConfig,
): ReadonlyMap<number, Preference> {
  const sequences = batch.map(({ sequence }) => sequence);
  const factors = marginFactors(sequences, config);
  const preferences = new Map<number, Preference>();
  for (const [row, { sequence, logprobs }] of batch.entries()) {
    const { index } = sideOf(sequence);
    const { margin, weight } = preferences.get(index) ?? {
      margin: -referencePointOf(sequence),
      weight: preferenceWeight(sequence, config),
    };
    preferences.set(index, {
      index,
      weight,
      margin: margin + factors[row] * logRatioOf(sequence, logprobs, config),
    });
  }
  return preferences;
}

/** Returns, for each sequence, the factor with which its tokens count in the margin of its preference. */
export function marginFactors(
  sequences: readonly Side[],
  { lengthNormalized }: PreferenceLossConfig,
): readonly number[] {
  const answerOf = (side: Side): string => JSON.stringify([sideOf(side).index, sideOf(side).isChosen]);
  const tokenCounts = new Map<string, number>();
  for (const sequence of sequences) {
    const answer = answerOf(sequence);
    tokenCounts.set(answer, (tokenCounts.get(answer) ?? 0) + trainedCountOf(sequence));
  }
  return sequences.map((sequence) => {
    const tokenCount = lengthNormalized ? present(tokenCounts.get(answerOf(sequence)), "a token count") : 1;
    return (sideOf(sequence).isChosen ? 1 : -1) / tokenCount;
  });
}

/**
 * Returns the amount that KTO subtracts from a margin: the reference point for a desirable answer, its negative for an
 * undesirable one. 0 for other losses.
 */
export function referencePointOf(sequence: Pick<Side, "preference">): number {
  const { isChosen, referencePoint = 0 } = sideOf(sequence);
  return isChosen ? referencePoint : -referencePoint;
}

/**
 * Returns the weight of a sequence. KTO multiplies it by the configured weight of desirable or of undesirable answers.
 */
export function preferenceWeight(
  sequence: Pick<Side, "preference" | "weight">,
  { loss, desirableWeight, undesirableWeight }: PreferenceLossConfig,
): number {
  if (loss !== "kto") return sequence.weight;
  return sequence.weight * (sideOf(sequence).isChosen ? desirableWeight : undesirableWeight);
}

/** Sums the log ratio of the policy to the reference model over the trained tokens of a sequence. */
export function logRatioOf(
  { mask, referenceLogprobs }: Pick<Side, "mask" | "referenceLogprobs">,
  logprobs: ArrayLike<number>,
  { loss }: Pick<PreferenceLossConfig, "loss">,
): number {
  let [sum, position] = [0, 0];
  mask.forEach((trains, at) => {
    if (trains === 0) return;
    const reference = loss === "simpo" ? 0 : present(referenceLogprobs, "reference log-probabilities")[at];
    sum += logprobs[position++] - reference;
  });
  return sum;
}

/** Returns the loss of a preference with this margin, and the derivative of the loss by the margin. */
export function lossOfMargin(
  margin: number,
  { loss, beta, labelSmoothing: noise, gamma }: PreferenceLossConfig,
): { readonly loss: number; readonly slope: number } {
  switch (loss) {
    case "dpo":
    case "simpo": {
      // SimPO subtracts its target margin γ; DPO has none.
      const reward = beta * margin - (loss === "simpo" ? gamma : 0);
      return {
        loss: -(1 - noise) * logSigmoid(reward) - noise * logSigmoid(-reward),
        slope: beta * (noise * sigmoid(reward) - (1 - noise) * sigmoid(-reward)),
      };
    }
    case "ipo": {
      const difference = margin - 1 / (2 * beta);
      return { loss: difference ** 2, slope: 2 * difference };
    }
    case "kto": {
      const value = sigmoid(beta * margin);
      return { loss: 1 - value, slope: -beta * value * (1 - value) };
    }
    default:
      return unreachable(loss);
  }
}

/** Returns the number of trained tokens in a sequence. */
function trainedCountOf({ mask }: Pick<Side, "mask">): number {
  return mask.reduce((count, trains) => count + trains, 0);
}

function sideOf({ preference }: Pick<Side, "preference">) {
  return present(preference, "the preference of a sequence");
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

/** Computes log(sigmoid(x)) without overflow for any x. */
function logSigmoid(x: number): number {
  return Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x)));
}

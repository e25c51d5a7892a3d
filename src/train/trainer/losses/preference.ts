// Losses of preferences by their formulas: DPO (arXiv:2305.18290) with the label smoothing of cDPO (Mitchell, "A note on DPO
// with noisy preferences", 2023), IPO (arXiv:2310.12036), SimPO (arXiv:2405.14734) and KTO (arXiv:2402.01306), as TRL
// computes them. Each is a function of a preference's margin, which is a weighted sum of log-probabilities: by it a gradient
// can be computed in parts. Pure arithmetic in double precision.
import { present, unreachable } from "../../../base/domain/assert.ts";
import type { PreferenceLossConfig } from "../trainer.ts";
import type { BatchLoss, LossInput } from "./loss-tokens.ts";

/** What of a batch's sequences a loss of preferences sees. */
export type PreferenceInput = Pick<LossInput, "logprobs"> & {
  readonly sequence: Pick<LossInput["sequence"], "mask" | "preference" | "referenceLogprobs" | "weight">;
};

/** Each token of a sequence, as far as a margin goes. */
type Side = PreferenceInput["sequence"];

export interface Preference {
  readonly index: number;
  /**
   * The sum over the tokens of the chosen answer of log π − log π_ref, less that of the rejected one; of means over each answer's
   * tokens where these count; without a reference of log π. With KTO of one answer less the reference point, or where people
   * did not want it the negative of that.
   */
  readonly margin: number;
  readonly weight: number;
}

/** @param batch as `requireLossInputs` lets through */
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

/** The preferences of a batch by their index, in the order in which they come first. */
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

/** What each token of a sequence counts for in its preference's margin, a number for each sequence. */
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

/** What KTO takes off a margin; 0 with other losses. */
export function referencePointOf(sequence: Pick<Side, "preference">): number {
  const { isChosen, referencePoint = 0 } = sideOf(sequence);
  return isChosen ? referencePoint : -referencePoint;
}

/** Its own, times KTO's of its side. */
export function preferenceWeight(
  sequence: Pick<Side, "preference" | "weight">,
  { loss, desirableWeight, undesirableWeight }: PreferenceLossConfig,
): number {
  if (loss !== "kto") return sequence.weight;
  return sequence.weight * (sideOf(sequence).isChosen ? desirableWeight : undesirableWeight);
}

/** The sum over the trained tokens of how much likelier each is than the reference finds it. */
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

/** The loss of a margin, and its slope by that. */
export function lossOfMargin(
  margin: number,
  { loss, beta, labelSmoothing: noise, gamma }: PreferenceLossConfig,
): { readonly loss: number; readonly slope: number } {
  switch (loss) {
    case "dpo":
    case "simpo": {
      // With SimPO the margin is to exceed γ; DPO's γ is 0.
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

/** The whole number of tokens of a sequence that train. */
function trainedCountOf({ mask }: Pick<Side, "mask">): number {
  return mask.reduce((count, trains) => count + trains, 0);
}

function sideOf({ preference }: Pick<Side, "preference">) {
  return present(preference, "the preference of a sequence");
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

/** Without overflow, whatever x is. */
function logSigmoid(x: number): number {
  return Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x)));
}

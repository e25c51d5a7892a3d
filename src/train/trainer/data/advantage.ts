// Computes advantages and token weights from rewards: first GRPO's baseline within each group, then one scale for the
// whole job. Besides its reward, only the number of trained tokens of a sequence matters, not the tokens themselves.
import { assert } from "../../../base/domain/assert.ts";
import type { TrainingConfig } from "../../../base/domain/training-config.ts";
import { centeredRewards, hasVariance } from "../../trajectories/centered-rewards.ts";
import { standardDeviation } from "../../trajectories/statistics.ts";

/**
 * Returns the advantages within one group: each reward minus the group's mean. With `scaleRewards`, they are divided by
 * the population standard deviation. They are exactly 0 if the rewards count as equal.
 */
export function groupAdvantages(
  rewards: readonly number[],
  config: Pick<TrainingConfig, "scaleRewards">,
): number[] {
  if (!hasVariance(rewards)) return rewards.map(() => 0);
  const scale = config.scaleRewards ? standardDeviation(rewards) + 1e-6 : 1;
  return centeredRewards(rewards).map((distance) => distance / scale);
}

/** The properties of one training sequence that determine its weight. */
export interface WeightingInput {
  /** Number of trained tokens in the sequence; at least 1. */
  readonly trainableTokenCount: number;
  /** Number of trained tokens in all sequences of the same trajectory. */
  readonly trajectoryTokenCount: number;
  /** Advantage of the sequence, as `groupAdvantages` returns it. */
  readonly advantage: number;
}

export interface Weighting {
  readonly advantage: number;
  readonly weight: number;
}

/**
 * Computes the weights and final advantages of all sequences of a job.
 * - A token's weight is 1 divided by the trained tokens of its trajectory, scaled so that the mean over all trained
 * tokens is 1. Each trajectory thus has the same total weight.
 * - `advantageBalance` shrinks the advantages of one sign.
 * - All advantages are divided by the mean of |advantage| · weight over the trained tokens.
 */
export function weighSequences(
  sequences: readonly WeightingInput[],
  config: Pick<TrainingConfig, "advantageBalance">,
): Weighting[] {
  assert(
    sequences.every((sequence) => sequence.trainableTokenCount > 0),
    "every weighted sequence has a trainable token",
  );
  const rawWeights = sequences.map((sequence) => 1 / (sequence.trajectoryTokenCount + 1e-6));
  const meanWeight = tokenMean(sequences, rawWeights);
  const weights = rawWeights.map((weight) => weight / meanWeight);
  const balanced = scaledToFinite(
    sequences.map(({ advantage }) => balance(advantage, config.advantageBalance)),
  );
  const mass = tokenMean(
    sequences,
    balanced.map((advantage, index) => Math.abs(advantage) * weights[index]),
  );
  // If `advantageBalance` made all advantages 0, the mean is 0, and there is nothing to scale.
  const scale = mass > 0 ? mass : 1;
  return balanced.map((advantage, index) => ({ advantage: advantage / scale, weight: weights[index] }));
}

/** Scales all advantages down if their sums would overflow. That is safe, because only their proportions matter. */
function scaledToFinite(advantages: readonly number[]): readonly number[] {
  const greatest = advantages.reduce((one, other) => Math.max(one, Math.abs(other)), 0);
  return greatest > 1e150 ? advantages.map((advantage) => advantage / greatest) : advantages;
}

function balance(advantage: number, advantageBalance: number): number {
  if (advantageBalance > 0 && advantage < 0) return advantage * (1 - advantageBalance);
  if (advantageBalance < 0 && advantage > 0) return advantage * (1 + advantageBalance);
  return advantage;
}

/** Averages a value over all trained tokens. All tokens of a sequence have the same value. */
function tokenMean(sequences: readonly WeightingInput[], values: readonly number[]): number {
  let sum = 0;
  let count = 0;
  sequences.forEach((sequence, index) => {
    sum += values[index] * sequence.trainableTokenCount;
    count += sequence.trainableTokenCount;
  });
  return sum / count;
}

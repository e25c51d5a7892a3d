// Compares the rewards of a group with their mean, which is GRPO's baseline. Has no side effects.
import { clamped } from "../../base/domain/summaries/outline-group.ts";
import { mean } from "./statistics.ts";

/**
 * Rewards of a group count as equal if each differs from the first by less than this, because such small differences
 * are rounding errors.
 */
const REWARD_RESOLUTION = 1e-12;

/** Returns each reward minus the group's mean. All are exactly 0 if the rewards count as equal. */
export function centeredRewards(rewards: readonly number[]): number[] {
  if (!hasVariance(rewards)) return rewards.map(() => 0);
  const center = mean(rewards);
  return rewards.map((reward) => clamped(reward - center));
}

/** True if the group's rewards differ by more than rounding errors. */
export function hasVariance(rewards: readonly number[]): boolean {
  return rewards.some((reward) => Math.abs(reward - rewards[0]) > REWARD_RESOLUTION);
}

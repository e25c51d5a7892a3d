// Rewards of models over their versions, from a list of jobs. Has no side effects.
import type { TrainingJob } from "../../client/api.ts";
import type { RewardName } from "./version-curves.ts";

type RewardedJob = Pick<TrainingJob, "model_id" | "rewards" | "result_step">;

/**
 * Returns the values that a reward had for each model, from old to new: the reward before each job and, if it is known,
 * the reward after the newest job.
 *
 * @param jobs newest first
 */
export function rewardsByModel(
  jobs: readonly RewardedJob[],
  metric: RewardName,
): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>();
  for (const { model_id: id, rewards, result_step: step } of jobs) {
    if (step === null) continue;
    const reward = rewards.find((one) => one.metric === metric);
    if (reward === undefined) continue;
    const values = found.get(id) ?? [];
    if (values.length === 0 && reward.after !== null) values.push(reward.after);
    if (reward.before !== null) values.push(reward.before);
    found.set(id, values);
  }
  return new Map([...found].map(([id, values]) => [id, values.toReversed()]));
}

// Rewards of models over their versions, from a list of jobs. Has no side effects.
import type { TrainingJob } from "../../client/api.ts";

type RewardedJob = Pick<TrainingJob, "model_id" | "rewards" | "result_step">;

/**
 * Returns the rewards of each model, from old to new: the reward before each job and, if it is known, the reward after
 * the newest job. All values of a model belong to the same metric.
 *
 * @param jobs newest first
 */
export function rewardsByModel(jobs: readonly RewardedJob[]): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>();
  const metrics = new Map<string, string>();
  for (const { model_id: id, rewards, result_step: step } of jobs) {
    if (step === null) continue;
    const metric = metrics.get(id) ?? rewards[0]?.metric;
    const reward = rewards.find((one) => one.metric === metric);
    if (metric === undefined || reward === undefined) continue;
    metrics.set(id, metric);
    const values = found.get(id) ?? [];
    if (values.length === 0 && reward.after !== null) values.push(reward.after);
    if (reward.before !== null) values.push(reward.before);
    found.set(id, values);
  }
  return new Map([...found].map(([id, values]) => [id, values.toReversed()]));
}

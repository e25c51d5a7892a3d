// The report of one round, and how it is computed.
import { hasSpread, type Group } from "./groups.ts";

export interface RoundReport {
  /** Number of the round, from 0. */
  readonly round: number;
  /** Step of the version that was sampled. */
  readonly step: number;
  /** Step of the resulting version; null if no rollout completed. */
  readonly newStep: number | null;
  /** Mean reward of completed rollouts; null if there are none. */
  readonly reward: number | null;
  readonly rewardMin: number | null;
  readonly rewardMax: number | null;
  /** Standard deviation of the rewards of each task, averaged over all tasks. */
  readonly spread: number;
  readonly groups: number;
  /**
   * Number of groups with equal rewards or fewer than two rollouts. There is nothing to learn from them, so the job
   * skips them.
   */
  readonly groupsWithoutSpread: number;
  /** Number of completed rollouts. */
  readonly rollouts: number;
  readonly failures: number;
  /** Messages of failures with their counts, most frequent first. */
  readonly failureReasons: readonly { readonly message: string; readonly count: number }[];
  /** Number of generated tokens. */
  readonly completionTokens: number;
  /** Number of answers that the model generated. */
  readonly answers: number;
  /** Number of answers truncated at their token limit. */
  readonly answersCutOff: number;
  /** Means over the job's optimizer steps; null if it took none. */
  readonly training: TrainingNumbers | null;
  readonly seconds: { readonly rollouts: number; readonly training: number };
  /** Metrics that the server computed from the round's trajectories, such as `train/reward`. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Id of the training job; null if there was none. */
  readonly jobId: string | null;
  readonly warnings: readonly string[];
  /** Validation of the new version; null if it was not validated. */
  readonly validation: Validation | null;
}

/** Means over a job's optimizer steps; null for values that the trainer does not report. */
export interface TrainingNumbers {
  readonly steps: number;
  readonly loss: number | null;
  /** Entropy in nats per token. */
  readonly entropy: number | null;
  /** KL divergence from the sampling policy, in nats per token. */
  readonly klDiv: number | null;
  /** KL divergence of the new version from the previous one, in nats per token. */
  readonly klUpdate: number | null;
  /** KL divergence from the base model, in nats per token. */
  readonly klPolicyRef: number | null;
  readonly gradNorm: number | null;
}

/** Returns the numbers in the data of a job's last event; null if the job took no optimizer step. */
export function trainingNumbers(data: Readonly<Record<string, unknown>>): TrainingNumbers | null {
  const number = (name: string): number | null => {
    const value = data[name];
    return typeof value === "number" ? value : null;
  };
  const steps = number("data/step_num_gradient_steps") ?? 0;
  if (steps === 0) return null;
  return {
    steps,
    loss: number("loss/train"),
    entropy: number("loss/entropy"),
    klDiv: number("loss/kl_div"),
    klUpdate: number("loss/kl_update"),
    klPolicyRef: number("loss/kl_policy_ref"),
    gradNorm: number("loss/grad_norm"),
  };
}

/** Result of a version on tasks that are never trained on. */
export interface Validation {
  readonly step: number;
  readonly reward: number;
  /** True if the reward is better than the rewards of all versions that were validated before. */
  readonly isBest: boolean;
  /** Metrics under `val/` that the server computed from the validation's trajectories. */
  readonly metrics: Readonly<Record<string, number>>;
}

type Numbers = Pick<
  RoundReport,
  | "reward"
  | "rewardMin"
  | "rewardMax"
  | "spread"
  | "groups"
  | "groupsWithoutSpread"
  | "rollouts"
  | "failures"
  | "failureReasons"
  | "completionTokens"
  | "answers"
  | "answersCutOff"
>;

export function numbersOf<Task>(groups: readonly Group<Task>[]): Numbers {
  const rollouts = groups.flatMap((group) => group.rollouts);
  const rewards = rollouts.map(({ reward }) => reward);
  const failures = groups.flatMap((group) => group.failures);
  const answers = rollouts.flatMap(({ trajectory }) => trajectory.endings);
  const several = groups.filter((group) => group.rollouts.length > 1);
  return {
    reward: rewards.length === 0 ? null : mean(rewards),
    rewardMin: rewards.length === 0 ? null : Math.min(...rewards),
    rewardMax: rewards.length === 0 ? null : Math.max(...rewards),
    spread:
      several.length === 0
        ? 0
        : mean(several.map((group) => deviation(group.rollouts.map((one) => one.reward)))),
    groups: groups.length,
    groupsWithoutSpread: groups.filter((group) => !hasSpread(group)).length,
    rollouts: rollouts.length,
    failures: failures.length,
    failureReasons: countedReasons(failures.map(({ message }) => message)),
    completionTokens: rollouts.reduce((sum, { trajectory }) => sum + trajectory.completionTokens, 0),
    answers: answers.length,
    answersCutOff: answers.filter((ending) => ending === "length").length,
  };
}

/** Maximum number of distinct failure messages in a report. */
const reasonsMax = 10;

export function countedReasons(messages: readonly string[]): RoundReport["failureReasons"] {
  const counts = new Map<string, number>();
  for (const message of messages.map(withoutIds)) counts.set(message, (counts.get(message) ?? 0) + 1);
  return [...counts]
    .map(([message, count]) => ({ message, count }))
    .toSorted((one, other) => other.count - one.count)
    .slice(0, reasonsMax);
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const longId = /\b(?=[a-z_-]*\d)[\w-]{24,}\b/gi;

/** Replaces ids and waiting times, which differ between requests that failed for the same reason. */
function withoutIds(message: string): string {
  return message
    .replaceAll(uuid, "…")
    .replaceAll(longId, "…")
    .replaceAll(/\bin \d+ s\b/g, "in some s");
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Returns the population standard deviation. */
function deviation(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
}

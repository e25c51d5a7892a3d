// A round in plain numbers.
import { hasSpread, type Group } from "./groups.ts";

export interface RoundReport {
  /** Counted from 0. */
  readonly round: number;
  /** The version that was sampled. */
  readonly step: number;
  /** The version that came of it; null where no rollout came to its end. */
  readonly newStep: number | null;
  /** Mean of all rollouts that came to their end; null where none did. */
  readonly reward: number | null;
  readonly rewardMin: number | null;
  readonly rewardMax: number | null;
  /** Mean over tasks of the standard deviation of their rollouts' rewards. */
  readonly spread: number;
  readonly groups: number;
  /** Groups whose rewards are all equal, or of fewer than two rollouts: they teach nothing, and the job skips them. */
  readonly groupsWithoutSpread: number;
  /** That came to their end. */
  readonly rollouts: number;
  readonly failures: number;
  /** Why, the most frequent first. */
  readonly failureReasons: readonly { readonly message: string; readonly count: number }[];
  /** That the model said. */
  readonly completionTokens: number;
  /** Answers of the model. */
  readonly answers: number;
  /** Answers that were cut off at their token limit. */
  readonly answersCutOff: number;
  /** Numbers of the job's steps; null if no step was taken. */
  readonly training: TrainingNumbers | null;
  readonly seconds: { readonly rollouts: number; readonly training: number };
  /** What the server made of the round's trajectories, such as `train/reward` and the means of what rollouts measured. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Of the training job; null where there was none. */
  readonly jobId: string | null;
  readonly warnings: readonly string[];
  /** Of the new version; null where it was not validated. */
  readonly validation: Validation | null;
}

/** Means over a job's steps; null where the trainer does not report one. */
export interface TrainingNumbers {
  readonly steps: number;
  readonly loss: number | null;
  /** Nats a token. */
  readonly entropy: number | null;
  /** From the policy that sampled, in nats a token. */
  readonly klDiv: number | null;
  /** Divergence of the new version from the previous one, in nats a token. */
  readonly klUpdate: number | null;
  /** From the base model, in nats a token. */
  readonly klPolicyRef: number | null;
  readonly gradNorm: number | null;
}

/** Reads what a job's last event reports; null where it took no step. */
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

/** How good a version is at tasks that are never trained on. */
export interface Validation {
  readonly step: number;
  readonly reward: number;
  /** Whether it is better than every one before. */
  readonly isBest: boolean;
  /** What the server made of its trajectories, such as the means of what rollouts measured, under `val/`. */
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

/** The most frequent of them. */
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

/** The same reason without what differs from request to request. */
function withoutIds(message: string): string {
  return message
    .replaceAll(uuid, "…")
    .replaceAll(longId, "…")
    .replaceAll(/\bin \d+ s\b/g, "in some s");
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Of the population. */
function deviation(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
}

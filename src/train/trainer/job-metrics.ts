// Computes the metrics of a training job under the names that clients know: for the job's start, for each step, and for
// the version, which has means over the steps. Pure.
import type { JobCounts } from "../../base/domain/job.ts";
import { present } from "../../base/domain/assert.ts";
import { answerMetrics } from "../trajectories/choice-faults.ts";
import { mean, standardDeviation } from "../trajectories/statistics.ts";
import { logprobDifference } from "./logprob-difference.ts";
import type { AnswerSummary } from "./data/answer-summary.ts";
import type { OptimizerBatch } from "./data/optimizer-batches.ts";
import type { ForwardBackwardResult, OptimizerStepResult } from "./trainer.ts";

/** Metric values, all finite, by name. */
export type Metrics = Readonly<Record<string, number>>;

/** Name of the loss on a job's held-out data, in the events of steps that end an epoch. */
export const heldOutLossName = "loss/valid";

/** Returns the metrics of the event `training_started`, which a job sends once. */
export function startMetrics(stepCount: number, counts: JobCounts): Metrics {
  return { num_sequences: stepCount, ...stepSizeMetrics(counts), ...countMetrics(counts) };
}

/** The data and results of one optimizer step. */
export interface StepRecord {
  /** The sequences of the step, with their recorded log-probabilities. */
  readonly batch: OptimizerBatch;
  readonly gradient: ForwardBackwardResult;
  readonly step: OptimizerStepResult;
  readonly learningRate: number;
  /** Time in seconds from reading the batch to the updated weights. */
  readonly seconds: number;
}

/** Returns the metrics of one optimizer step. Omits metrics that the trainer does not report. */
export function stepMetrics({ batch, gradient, step, learningRate, seconds }: StepRecord): Metrics {
  const { entropy } = gradient.metrics;
  const { gradient_norm: gradientNorm } = step.metrics;
  const difference = logprobDifference(batch, gradient);
  const tokenCount = batch.reduce((count, { tokenIds }) => count + tokenIds.length, 0);
  return {
    loss: gradient.loss,
    num_datums: batch.length,
    num_tokens: tokenCount,
    ...(entropy === undefined ? {} : { entropy }),
    ...(gradientNorm === undefined ? {} : { grad_norm: gradientNorm }),
    learning_rate: learningRate,
    max_logprob_difference: difference.nats,
    mean_logprob_difference: difference.meanNats,
    // Omitted if the clock did not advance during the step, because the rate would be infinite.
    ...(seconds > 0 ? { tokens_per_second: tokenCount / seconds } : {}),
  };
}

/**
 * Returns the metrics of the event `gradient_step`. Includes the job's counts in each step, because clients average
 * every metric over the steps.
 */
export function stepEventMetrics(step: Metrics, counts: JobCounts): Metrics {
  return { ...step, ...countMetrics(counts) };
}

/**
 * Returns the metrics of the version and of the event `training_ended`: means over the steps, and statistics of the
 * job's data.
 */
export function versionMetrics(steps: readonly Metrics[], counts: JobCounts, seconds: number): Metrics {
  const skipped = Object.entries(counts.skipped);
  return {
    ...meansOf(steps),
    num_sequences: steps.length,
    "data/step_num_gradient_steps": steps.length,
    "data/step_num_groups_submitted": counts.groupsSubmitted,
    "data/step_num_groups_trainable": counts.groupsTrainable,
    "data/step_num_trajectories": counts.trajectories,
    "data/step_trainer_tokens": counts.trainableTokens,
    "time/step_trainer_s": seconds,
    ...Object.fromEntries(skipped.map(([reason, count]) => [`data/step_num_skipped_${reason}`, count])),
  };
}

/**
 * Returns statistics of the rewards in a version's training data. They describe the earlier policy that generated the
 * answers, not the version itself.
 */
export function rewardMetrics(rewards: readonly number[]): Metrics {
  if (rewards.length === 0) return {};
  return { "data/reward": mean(rewards), "data/reward_std_dev": standardDeviation(rewards) };
}

/** Returns statistics of the answers in a version's training data: their lengths, and the share that was cut off. */
export function completionMetrics(answers: AnswerSummary): Metrics {
  const { count, lengthMean, lengthMax, endedCount, cutCount } = answers;
  return {
    ...(count === 0 ? {} : { [answerMetrics.length]: lengthMean, [answerMetrics.lengthMax]: lengthMax }),
    ...(endedCount === 0 ? {} : { [answerMetrics.cut]: cutCount / endedCount }),
  };
}

/**
 * For each step metric, the name of its mean over the steps. A step metric whose name contains a slash keeps its name.
 */
const meanNames: Readonly<Record<string, string>> = {
  loss: "loss/train",
  entropy: "loss/entropy",
  grad_norm: "loss/grad_norm",
  learning_rate: "loss/learning_rate",
  kl_div: "loss/kl_div",
  kl_policy_ref: "loss/kl_policy_ref",
  num_datums: "data/step_num_datums",
  num_tokens: "data/step_num_tokens",
  tokens_per_second: "throughput/trainer_tokens_per_second",
};

/**
 * Averages each metric over the steps that report it. If a metric is a maximum, takes the maximum instead, and of the
 * loss on held-out data the last value, which is that of the version.
 */
function meansOf(steps: readonly Metrics[]): Metrics {
  if (steps.length === 0) return {};
  const names = new Set(steps.flatMap((step) => Object.keys(step)));
  const means: Record<string, number> = {};
  for (const name of names) {
    const meanName = name.includes("/") ? name : meanNames[name];
    if (meanName === undefined) continue;
    const values = steps.filter((step) => name in step).map((step) => step[name]);
    if (name === heldOutLossName) means[meanName] = present(values.at(-1), "a value of a metric");
    else
      means[meanName] = name.endsWith("_max")
        ? values.reduce((one, other) => Math.max(one, other))
        : mean(values);
  }
  const { max_logprob_difference: greatest, mean_logprob_difference: average } = steps[0];
  return {
    ...means,
    ...(greatest === undefined ? {} : { "loss/first_max_logprob_difference": greatest }),
    ...(average === undefined ? {} : { "loss/first_mean_logprob_difference": average }),
  };
}

/**
 * Returns metrics about the size of the steps. Only the event of the job's start has them, because clients would
 * average them over the steps.
 */
function stepSizeMetrics({ sequences, steps }: JobCounts): Metrics {
  if (steps === undefined) return {};
  return {
    num_gradient_steps: steps.count,
    num_trained_sequences: sequences,
    num_sequences_per_step_max: steps.sequencesMax,
    num_passes: steps.passCount,
  };
}

function countMetrics(counts: JobCounts): Metrics {
  return {
    num_groups_submitted: counts.groupsSubmitted,
    num_groups_trainable: counts.groupsTrainable,
    num_trajectories: counts.trajectories,
    num_trainable_tokens: counts.trainableTokens,
  };
}

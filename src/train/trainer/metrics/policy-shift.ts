// Measures how far a job moved its policy. Warns with the measured numbers and a remedy, and refuses a job whose policy
// moved further than the job's limit. Pure.
import { mean } from "../../trajectories/statistics.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import type { JobResult } from "../plans/plan.ts";
import { behaviorMetrics } from "./policy-metrics.ts";

/**
 * Divergence of the new version from the policy before the job, in nats per token; null if it could not be measured.
 */
export interface PolicyShift {
  readonly k1: number;
  readonly k3: number;
}

/**
 * Measures how far the policy moved.
 *
 * @param compared sequences with the log-probabilities before the job
 * @param logprobs log-probabilities of the same trained tokens after the job
 */
export function policyShift(
  compared: OptimizerBatch,
  logprobs: readonly ArrayLike<number>[],
): PolicyShift | null {
  const { kl_div: k3, "loss/kl_div_k1": k1 } = behaviorMetrics(compared, logprobs);
  return k1 === undefined || k3 === undefined ? null : { k1, k3 };
}

/**
 * Divergence in nats per token above which a job gets a warning. Most jobs that learn move the policy by 0.01 to 0.3,
 * and jobs that change every answer's format by up to 3. Jobs that ruin a model (one answer to everything, or noise)
 * move it by 3 to 20.
 */
const shiftMax = 1;

/**
 * Limits of the warning that a policy has stopped exploring: the job's first steps had an entropy of at least
 * `entropyMin`, and its last steps have at most the share `entropyLeft` of it.
 */
const [entropyLeft, entropyMin] = [0.1, 0.1];

/**
 * Minimum number of steps for this warning, which compares the mean entropy of the first and the last quarter of the
 * steps. Means over fewer steps are unreliable.
 */
const entropySteps = 8;

export function judgeShift(
  steps: readonly Readonly<Record<string, number>>[],
  shift: PolicyShift | null,
  {
    learningRate,
    startStep,
    limit,
  }: {
    readonly learningRate: number;
    /** Number of the version from which the job started. */
    readonly startStep: number;
    /** Maximum divergence in nats per token; a version beyond it is not published. 0 for no limit. */
    readonly limit: number;
  },
): JobResult {
  const metrics: JobResult["metrics"] =
    shift === null ? {} : { "loss/kl_update": shift.k1, "loss/kl_update_k3": shift.k3 };
  const moved = shift?.k1 ?? 0;
  const numbers = `moved the policy by ${moved.toPrecision(3)} nats per token (kl_update) with ${stepsText(steps.length)} at a learning rate of ${learningRate}`;
  const cure = `lower learning_rate to about ${suggestedRate(learningRate, moved)}, or take fewer steps (batch_size, steps, passes)`;
  if (limit > 0 && moved > limit) {
    const refusal = `This job ${numbers}; its limit is ${limit} (max_kl_update), so it makes no version; ${cure}.`;
    return { metrics, warnings: [], refusal };
  }
  const shiftWarning = `This job ${numbers}; above ${shiftMax} a model often forgets more than it learns. Look at its answers. If they got worse: ${cure}. To go back to version ${startStep}, delete the new version; max_kl_update fails such a job instead.`;
  const unmeasured =
    "The policy shift of this job could not be measured, so max_kl_update was not applied: none of its data has a log-probability from before the job.";
  return {
    metrics,
    warnings: [
      ...(moved > shiftMax ? [shiftWarning] : []),
      ...(shift === null && limit > 0 ? [unmeasured] : []),
      ...entropyWarnings(steps),
    ],
    refusal: null,
  };
}

function stepsText(count: number): string {
  return count === 1 ? "one step" : `${count} steps`;
}

/**
 * Suggests a learning rate of at most a third of the job's. AdamW's updates are proportional to the learning rate, and
 * divergence grows with the square of the updates.
 */
function suggestedRate(learningRate: number, moved: number): string {
  const factor = Math.min(1 / 3, Math.sqrt(0.1 / Math.max(moved, shiftMax)));
  return String(Number((learningRate * factor).toPrecision(1)));
}

function entropyWarnings(steps: readonly Readonly<Record<string, number>>[]): readonly string[] {
  const entropies = steps.flatMap(({ entropy }) => entropy ?? []);
  if (entropies.length < entropySteps) return [];
  const quarter = Math.floor(entropies.length / 4);
  const [before, after] = [mean(entropies.slice(0, quarter)), mean(entropies.slice(-quarter))];
  if (before < entropyMin || after > entropyLeft * before) return [];
  return [
    `Entropy fell from ${before.toPrecision(2)} to ${after.toPrecision(2)} nats per token within this job: the model now gives nearly the same answer each time, and equal answers teach nothing. ` +
      "Unless it has learned the task, lower learning_rate, or sample at a higher temperature.",
  ];
}

// Estimates how far the policy is from the sampling policy and from the base model. Applies the estimators k1 and k3 of
// Schulman, "Approximating KL Divergence" (2020), to the log-probabilities of one step's tokens. Both are unbiased; k3
// has less variance and is never negative.
import { mean } from "../../trajectories/statistics.ts";
import { trainedIndices } from "../../trajectories/sequences.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import { lossTokensOf } from "../losses/loss-tokens.ts";
import { LOG_RATIO_MAX, policyLosses } from "../losses/policy.ts";
import type { BaseComparison } from "../steps/reference-logprobs.ts";
import type { ForwardResult, PolicyLossConfig, TrainingSequence } from "../trainer.ts";

/** Metric values, all finite, by name. */
export type PolicyMetrics = Readonly<Record<string, number>>;

/** The data and results of one optimizer step, from which policy metrics are computed. */
export interface PolicyStep {
  /** The sequences of the step, with their recorded log-probabilities. */
  readonly recorded: OptimizerBatch;
  /** The sequences of `recorded`, but with the log-probabilities that the loss uses. */
  readonly batch: OptimizerBatch;
  /** Log-probabilities that the forward pass before the update computed. */
  readonly gradient: ForwardResult;
  readonly comparison: BaseComparison;
  readonly config: PolicyLossConfig;
}

/**
 * Returns all policy metrics of a step. Omits metrics for which log-probabilities were not recorded or not computed.
 */
export function policyMetrics(step: PolicyStep): PolicyMetrics {
  const { recorded, batch, gradient, comparison, config } = step;
  const compared = comparison.rows.map((row) => gradient.logprobs[row]);
  return {
    ...behaviorMetrics(recorded, gradient.logprobs),
    ...baseMetrics(compared, comparison.logprobs),
    ...ratioMetrics(batch, gradient.logprobs, config),
  };
}

/**
 * Returns the current policy's divergence from the sampling policy: a mean over the trained tokens with a recorded
 * log-probability. Empty if there is no such token.
 *
 * @param logprobs current log-probabilities of the trained tokens, one list per sequence
 */
export function behaviorMetrics(
  recorded: OptimizerBatch,
  logprobs: readonly ArrayLike<number>[],
): PolicyMetrics {
  const differences = recorded
    .flatMap((sequence, row) => differencesOf(logprobs[row], valuesAt(sequence, sequence.oldLogprobs)))
    .filter((difference) => !Number.isNaN(difference));
  if (differences.length === 0) return {};
  return {
    kl_div: mean(differences.map(k3)),
    "loss/kl_div_k1": mean(differences.map(k1)),
  };
}

/**
 * Estimates the current policy's divergence from the base model. It is only an estimate, because a slightly different
 * policy sampled the tokens.
 *
 * @param base the base model's log-probabilities of the same tokens
 */
export function baseMetrics(
  logprobs: readonly ArrayLike<number>[],
  base: readonly ArrayLike<number>[],
): PolicyMetrics {
  const differences = logprobs.flatMap((values, row) => differencesOf(base[row], values));
  if (differences.length === 0) return {};
  return {
    kl_policy_ref: mean(differences.map(k1)),
    "loss/kl_policy_ref_k3": mean(differences.map(k3)),
  };
}

/**
 * Returns metrics of the importance ratios that the loss uses, before clipping, and the share of trained tokens whose
 * ratio the loss clips.
 *
 * @param batch sequences with the log-probabilities that the loss uses; a token without one has ratio 1
 */
export function ratioMetrics(
  batch: OptimizerBatch,
  logprobs: readonly ArrayLike<number>[],
  config: PolicyLossConfig,
): PolicyMetrics {
  const losses = policyLosses(
    batch.map((sequence, row) => lossTokensOf(sequence, logprobs[row])),
    config,
  );
  const ratios = losses.flatMap((each) => each.ratios);
  const clippedCount = losses.flatMap(({ isClipped }) => isClipped).filter(Boolean).length;
  const sorted = Float64Array.from(ratios).sort();
  return {
    "loss/importance_ratio_mean": mean(ratios),
    "loss/importance_ratio_p95": quantile(sorted, 0.95),
    "loss/importance_ratio_max": sorted[sorted.length - 1],
    "loss/clipped_token_fraction": clippedCount / ratios.length,
  };
}

/**
 * Returns the estimator k1 of KL[q, p] for one sample of q.
 *
 * @param difference log p - log q of the sample
 */
function k1(difference: number): number {
  return -cut(difference);
}

/**
 * Returns the estimator k3 of KL[q, p] for one sample of q.
 *
 * @param difference log p - log q of the sample
 */
function k3(difference: number): number {
  return Math.expm1(cut(difference)) - cut(difference);
}

/** Clips a log ratio as the loss does, so that a token with almost no probability does not dominate the mean. */
function cut(difference: number): number {
  return Math.min(Math.max(difference, -LOG_RATIO_MAX), LOG_RATIO_MAX);
}

/**
 * Returns a quantile, linearly interpolated between two values.
 *
 * @param sorted ascending, not empty
 */
function quantile(sorted: Float64Array, share: number): number {
  const place = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  return below + (above - below) * (place - Math.floor(place));
}

function valuesAt(sequence: TrainingSequence, values: Float32Array): readonly number[] {
  return trainedIndices(sequence).map((at) => values[at]);
}

function differencesOf(left: ArrayLike<number>, right: ArrayLike<number>): readonly number[] {
  return Array.from(left, (value, index) => value - right[index]);
}

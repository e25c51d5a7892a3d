// How far the policy has moved, from the log-probabilities of one step's tokens: from the policy that sampled them, and from
// the base model. Estimators of the Kullback-Leibler divergence are k1 and k3 of Schulman, "Approximating KL Divergence"
// (2020): k1 is unbiased and may be negative, k3 is unbiased, never negative and steadier. Pure.
import { mean } from "../../trajectories/statistics.ts";
import { trainedIndices } from "../../trajectories/sequences.ts";
import type { OptimizerBatch } from "../data/optimizer-batches.ts";
import { lossTokensOf } from "../losses/loss-tokens.ts";
import { LOG_RATIO_MAX, policyLosses } from "../losses/policy.ts";
import type { BaseComparison } from "../steps/reference-logprobs.ts";
import type { ForwardResult, PolicyLossConfig, TrainingSequence } from "../trainer.ts";

/** By name; all finite. */
export type PolicyMetrics = Readonly<Record<string, number>>;

/** What one step of a policy was computed from. */
export interface PolicyStep {
  /** With the log-probabilities as recorded. */
  readonly recorded: OptimizerBatch;
  /** The same sequences with the log-probabilities that the loss compares with. */
  readonly batch: OptimizerBatch;
  /** Before the step. */
  readonly gradient: ForwardResult;
  readonly comparison: BaseComparison;
  readonly config: PolicyLossConfig;
}

/** All of a step; what nothing was recorded for, or not compared, is absent. */
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
 * The divergence from the policy that sampled: the mean over the trained tokens whose log-probability was recorded; empty
 * where none was.
 *
 * @param logprobs of the trained tokens, a list for each sequence
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
 * The divergence of the current policy from the base model, on tokens that a policy close to the current one sampled.
 *
 * @param base what the base model gives for the same tokens as `logprobs`
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
 * The importance ratios that the loss takes, at its level and before anything cuts them, and the share of the trained tokens
 * that its bounds then cut.
 *
 * @param batch with the log-probabilities that the loss compares with; a token without one has the ratio 1
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

/** k1 of KL[q, p] at a sample of q, from log p - log q. */
function k1(difference: number): number {
  return -cut(difference);
}

/** k3 likewise. */
function k3(difference: number): number {
  return Math.expm1(cut(difference)) - cut(difference);
}

/** As the loss cuts ratios, so that a token of nearly no probability does not drown the rest. */
function cut(difference: number): number {
  return Math.min(Math.max(difference, -LOG_RATIO_MAX), LOG_RATIO_MAX);
}

/** @param sorted ascending, not empty; between two of its values the line between them counts */
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

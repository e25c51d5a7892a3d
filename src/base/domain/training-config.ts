// Options of a reinforcement learning job, with defaults and ranges. Formulas are in train/trainer/losses.

import type { BasePrecision } from "./trainer/base-precision.ts";

export const importanceSamplingLevels = ["token", "sequence", "average", "geometric_average"] as const;
export type ImportanceSamplingLevel = (typeof importanceSamplingLevels)[number];

export const klPenaltySources = ["current_learner", "sample"] as const;
export type KlPenaltySource = (typeof klPenaltySources)[number];

/** Effective configuration: the request's options, with defaults for nulls. */
export interface TrainingConfig {
  /** [-1, 1]; positive values shrink negative advantages, negative values shrink positive ones. */
  readonly advantageBalance: number;
  /** True if assistant messages without recorded tokens are also trained on; see train/trajectories. */
  readonly allowTrainingWithoutLogprobs: boolean;
  /** Precision of multiplications with the base model's weights; null lets the server choose. */
  readonly basePrecision: BasePrecision | null;
  /** Number of sequences in one optimizer step, at least 1; null to use `stepCount` or the server's default. */
  readonly batchSize: number | null;
  /** At least 0: the lower clip bound is 1 - epsilon. */
  readonly epsilon: number;
  /** At least 0: the upper clip bound is 1 + epsilonHigh. */
  readonly epsilonHigh: number;
  /** At least 0: gradients are clipped to this norm, 0 disables clipping; null lets the server choose. */
  readonly gradientNormMax: number | null;
  readonly importanceSamplingLevel: ImportanceSamplingLevel;
  /** Weight of the K2 term, at least 0; 0 disables it. See train/trainer/losses. */
  readonly k2Tau: number;
  /**
   * Penalty on tokens that the base model finds unlikely, in normalised advantage per nat; at least 0, and 0 disables
   * it.
   */
  readonly klPenaltyCoefficient: number;
  /**
   * Policy whose log-probabilities are compared with the base model's: the current policy, or the policy that sampled
   * the tokens.
   */
  readonly klPenaltySource: KlPenaltySource;
  /**
   * Maximum distance that a job may move the policy, in nats per token; at least 0. A job that exceeds it publishes no
   * version. 0 disables the limit, null lets the server choose.
   */
  readonly klUpdateMax: number | null;
  /** Learning rate; above 0. */
  readonly learningRate: number;
  /** Exponent, at least 0: a step's learning rate is multiplied by the step's number of sequences to this power. */
  readonly learningRatePower: number;
  readonly maskProbRatio: boolean;
  /** Upper bound of every importance ratio; 0 disables the bound. */
  readonly maxNegativeAdvantageImportanceSamplingWeight: number;
  /** Maximum length of a sequence that is trained on, at least 2; null lets the server choose. */
  readonly packedSequenceLength: number | null;
  /** Number of passes over each sequence; at least 1. */
  readonly passCount: number;
  /** True to clip as PPO does; false to clip as CISPO does. */
  readonly ppo: boolean;
  readonly precalculateLogprobs: boolean;
  readonly scaleRewards: boolean;
  /**
   * Number of optimizer steps in a pass, all of equal size, at least 1; null to use `batchSize` or the server's
   * default.
   */
  readonly stepCount: number | null;
  /**
   * Upper bound of the truncated importance-sampling weights, at least 0; 0 disables them. A token's weight is the
   * ratio of its probability before the first step to the recorded probability.
   */
  readonly truncatedImportanceSampling: number;
  /** At least 0: weight decay of AdamW; null lets the server choose. */
  readonly weightDecay: number | null;
}

/** Options of a request; null or absent means the default. */
export type TrainingConfigInput = { readonly [Field in keyof TrainingConfig]?: TrainingConfig[Field] | null };

/**
 * Returns the effective configuration. By default, CISPO clips ratios to [0, 5] and PPO to [0.8, 1.2]; PPO's default
 * upper bound is derived from the lower one.
 */
export function resolveTrainingConfig(input: TrainingConfigInput): TrainingConfig {
  const ppo = input.ppo ?? false;
  const epsilon = input.epsilon ?? (ppo ? 0.2 : 1.0);
  return {
    advantageBalance: input.advantageBalance ?? 0,
    allowTrainingWithoutLogprobs: input.allowTrainingWithoutLogprobs ?? false,
    basePrecision: input.basePrecision ?? null,
    batchSize: input.batchSize ?? null,
    epsilon,
    epsilonHigh: input.epsilonHigh ?? (ppo ? epsilon : 4.0),
    gradientNormMax: input.gradientNormMax ?? null,
    importanceSamplingLevel: input.importanceSamplingLevel ?? "token",
    k2Tau: input.k2Tau ?? 0,
    klPenaltyCoefficient: input.klPenaltyCoefficient ?? 0,
    klPenaltySource: input.klPenaltySource ?? "current_learner",
    klUpdateMax: input.klUpdateMax ?? null,
    learningRate: input.learningRate ?? 1e-4,
    learningRatePower: input.learningRatePower ?? 0,
    maskProbRatio: input.maskProbRatio ?? false,
    maxNegativeAdvantageImportanceSamplingWeight: input.maxNegativeAdvantageImportanceSamplingWeight ?? 0,
    packedSequenceLength: input.packedSequenceLength ?? null,
    passCount: input.passCount ?? 1,
    ppo,
    precalculateLogprobs: input.precalculateLogprobs ?? false,
    scaleRewards: input.scaleRewards ?? true,
    stepCount: input.stepCount ?? null,
    truncatedImportanceSampling: input.truncatedImportanceSampling ?? 0,
    weightDecay: input.weightDecay ?? null,
  };
}

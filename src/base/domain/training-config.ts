// Options of a reinforcement learning job, with their defaults. The formulas are in train/trainer/losses.

import type { BasePrecision } from "./trainer/base-precision.ts";

export const importanceSamplingLevels = ["token", "sequence", "average", "geometric_average"] as const;
export type ImportanceSamplingLevel = (typeof importanceSamplingLevels)[number];

export const klPenaltySources = ["current_learner", "sample"] as const;
export type KlPenaltySource = (typeof klPenaltySources)[number];

/** Options that a job uses: those of the request, and defaults for options that are null in the request. */
export interface TrainingConfig {
  /**
   * Balance of advantages, from -1 to 1. Positive values shrink negative advantages, and negative values shrink
   * positive ones.
   */
  readonly advantageBalance: number;
  /** True if the job also trains on assistant messages without recorded tokens; see train/trajectories. */
  readonly allowTrainingWithoutLogprobs: boolean;
  /** Precision of multiplications with the base model's weights; null lets the server choose. */
  readonly basePrecision: BasePrecision | null;
  /** Number of sequences in one optimizer step, at least 1; null if `stepCount` or the server's default decides. */
  readonly batchSize: number | null;
  /** Distance of the lower clip bound from 1, at least 0: the bound is 1 - epsilon. */
  readonly epsilon: number;
  /** Distance of the upper clip bound from 1, at least 0: the bound is 1 + epsilonHigh. */
  readonly epsilonHigh: number;
  /** Norm to which gradients are clipped, at least 0; 0 disables clipping, and null lets the server choose. */
  readonly gradientNormMax: number | null;
  readonly importanceSamplingLevel: ImportanceSamplingLevel;
  /** Weight of the K2 term, at least 0; 0 disables the term. See train/trainer/losses. */
  readonly k2Tau: number;
  /**
   * Penalty on tokens that the base model finds unlikely, in normalized advantage per nat. At least 0; 0 disables the
   * penalty.
   */
  readonly klPenaltyCoefficient: number;
  /**
   * Policy whose log-probabilities are compared with those of the base model: the current policy, or the one that
   * sampled the tokens.
   */
  readonly klPenaltySource: KlPenaltySource;
  /**
   * Maximum distance by which a job may move the policy, in nats per token, at least 0. A job that exceeds it publishes
   * no version. 0 disables the limit, and null lets the server choose.
   */
  readonly klUpdateMax: number | null;
  /** Learning rate; above 0. */
  readonly learningRate: number;
  /**
   * Exponent, at least 0. In each step, the learning rate is multiplied by the number of sequences of the step, raised
   * to this exponent.
   */
  readonly learningRatePower: number;
  readonly maskProbRatio: boolean;
  /** Upper bound of each token's importance ratio, for positive advantages too; 0 disables the bound. */
  readonly maxNegativeAdvantageImportanceSamplingWeight: number;
  /** Maximum number of tokens in a sequence on which to train, at least 2; null lets the server choose. */
  readonly packedSequenceLength: number | null;
  /** Number of passes that the job makes over each sequence; at least 1. */
  readonly passCount: number;
  /** True to clip ratios as PPO does; false to clip them as CISPO does. */
  readonly ppo: boolean;
  readonly precalculateLogprobs: boolean;
  readonly scaleRewards: boolean;
  /**
   * Number of optimizer steps in one pass, all of equal size, at least 1; null if `batchSize` or the server's default
   * decides.
   */
  readonly stepCount: number | null;
  /**
   * Upper bound of the weights of truncated importance sampling, at least 0; 0 disables these weights. A token's weight
   * is its probability before the first step, divided by its recorded probability.
   */
  readonly truncatedImportanceSampling: number;
  /** Weight decay of AdamW, at least 0; null lets the server choose. */
  readonly weightDecay: number | null;
}

/** Options as a request sends them. Null or absent means the default. */
export type TrainingConfigInput = { readonly [Field in keyof TrainingConfig]?: TrainingConfig[Field] | null };

/**
 * Returns the options in effect. By default, CISPO clips ratios to [0, 5], and PPO to [0.8, 1.2]. PPO's default upper
 * bound follows from its lower bound.
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

// Options of a reinforcement learning job, with defaults and ranges. Formulas are in train/trainer/losses.

import type { BasePrecision } from "./trainer/base-precision.ts";

export const importanceSamplingLevels = ["token", "sequence", "average", "geometric_average"] as const;
export type ImportanceSamplingLevel = (typeof importanceSamplingLevels)[number];

export const klPenaltySources = ["current_learner", "sample"] as const;
export type KlPenaltySource = (typeof klPenaltySources)[number];

/** Effective configuration; nulls are replaced by defaults. */
export interface TrainingConfig {
  /** [-1, 1]; positive values shrink negative advantages, negative values shrink positive ones. */
  readonly advantageBalance: number;
  /** True if assistant messages without recorded tokens train as well; see train/trajectories. */
  readonly allowTrainingWithoutLogprobs: boolean;
  /** Precision of products with the base model's weights; null lets the server choose. */
  readonly basePrecision: BasePrecision | null;
  /** At least 1: sequences in one optimizer step; null to follow `stepCount` or the server. */
  readonly batchSize: number | null;
  /** At least 0: the lower clip bound is 1 - epsilon. */
  readonly epsilon: number;
  /** At least 0: the upper clip bound is 1 + epsilonHigh. */
  readonly epsilonHigh: number;
  /** At least 0: gradients are clipped to this norm, 0 disables clipping; null lets the server choose. */
  readonly gradientNormMax: number | null;
  readonly importanceSamplingLevel: ImportanceSamplingLevel;
  /** At least 0; 0 is off. */
  readonly k2Tau: number;
  /** At least 0, in normalised advantage per nat: penalty on tokens that the base model finds unlikely; 0 is off. */
  readonly klPenaltyCoefficient: number;
  /**
   * Policy whose log-probabilities the penalty compares with the base model's: the current one, or the one that
   * sampled.
   */
  readonly klPenaltySource: KlPenaltySource;
  /**
   * At least 0, in nats per token: a job whose policy moves further publishes no version. 0 is off, null lets the
   * server choose.
   */
  readonly klUpdateMax: number | null;
  /** Above 0. */
  readonly learningRate: number;
  /** At least 0: a step's learning rate is multiplied by its number of sequences to this power. */
  readonly learningRatePower: number;
  readonly maskProbRatio: boolean;
  /** Upper bound of every importance ratio; 0 is off. */
  readonly maxNegativeAdvantageImportanceSamplingWeight: number;
  /** At least 2: maximum length of a sequence that trains; null lets the server choose. */
  readonly packedSequenceLength: number | null;
  /** At least 1: passes over each sequence. */
  readonly passCount: number;
  /** True to clip as PPO does, false as CISPO does. */
  readonly ppo: boolean;
  readonly precalculateLogprobs: boolean;
  readonly scaleRewards: boolean;
  /** At least 1: optimizer steps in a pass, of equal size; null to follow `batchSize` or the server. */
  readonly stepCount: number | null;
  /**
   * At least 0; 0 is off. Tokens are weighted by the ratio of their probability before the first step to the recorded
   * one, up to this bound.
   */
  readonly truncatedImportanceSampling: number;
  /** At least 0: weight decay of AdamW; null lets the server choose. */
  readonly weightDecay: number | null;
}

/** Options of a request; null or absent means the default. */
export type TrainingConfigInput = { readonly [Field in keyof TrainingConfig]?: TrainingConfig[Field] | null };

/**
 * Returns the effective configuration. CISPO clips to [0, 5] by default; PPO to [0.8, 1.2], with the upper bound
 * following the lower.
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

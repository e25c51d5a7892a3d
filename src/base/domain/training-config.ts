// The options of a reinforcement learning job, with defaults and ranges. Formulas are in training/.

import type { BasePrecision } from "./trainer/base-precision.ts";

export const importanceSamplingLevels = ["token", "sequence", "average", "geometric_average"] as const;
export type ImportanceSamplingLevel = (typeof importanceSamplingLevels)[number];

export const klPenaltySources = ["current_learner", "sample"] as const;
export type KlPenaltySource = (typeof klPenaltySources)[number];

/** The configuration as it takes effect; nulls were replaced by defaults. */
export interface TrainingConfig {
  /** [-1, 1]; positive shrinks negative advantages, negative shrinks positive ones. */
  readonly advantageBalance: number;
  /** Whether assistant messages train beside Choices; see trajectories/. */
  readonly allowTrainingWithoutLogprobs: boolean;
  /** Of the products with the base model's weights; null leaves it to the server. */
  readonly basePrecision: BasePrecision | null;
  /** At least 1: the sequences of one optimizer step; null where `stepCount` or the server says. */
  readonly batchSize: number | null;
  /** At least 0: the lower clip bound is 1 - epsilon. */
  readonly epsilon: number;
  /** At least 0: the upper clip bound is 1 + epsilonHigh. */
  readonly epsilonHigh: number;
  /** At least 0: gradients are scaled down to this norm, 0 never scales; null leaves it to the server. */
  readonly gradientNormMax: number | null;
  readonly importanceSamplingLevel: ImportanceSamplingLevel;
  /** At least 0; 0 is off. */
  readonly k2Tau: number;
  /**
   * At least 0, in units of normalised advantage per nat: how much a token that the base model finds unlikely loses; 0
   * is off.
   */
  readonly klPenaltyCoefficient: number;
  /**
   * Whose log-probabilities the penalty compares with the base model's: the current ones, or those of the policy that
   * sampled.
   */
  readonly klPenaltySource: KlPenaltySource;
  /**
   * At least 0, in nats a token: a job that moves its policy further makes no version; 0 is off, null leaves it to the
   * server.
   */
  readonly klUpdateMax: number | null;
  /** Above 0. */
  readonly learningRate: number;
  /** At least 0: a step's learning rate is multiplied by the number of its sequences to this power. */
  readonly learningRatePower: number;
  readonly maskProbRatio: boolean;
  /** Caps every importance ratio; 0 is off. */
  readonly maxNegativeAdvantageImportanceSamplingWeight: number;
  /** At least 2: the longest sequence that trains; null leaves it to the server. */
  readonly packedSequenceLength: number | null;
  /** At least 1: how often the job trains on each sequence. */
  readonly passCount: number;
  /** True clips as PPO does, false as CISPO does. */
  readonly ppo: boolean;
  readonly precalculateLogprobs: boolean;
  readonly scaleRewards: boolean;
  /** At least 1: into how many optimizer steps a pass is divided, evenly; null where `batchSize` or the server says. */
  readonly stepCount: number | null;
  /**
   * At least 0; 0 is off. Where log-probabilities are computed before the first step, tokens count by how much likelier they
   * are than the recorded ones say, up to this much.
   */
  readonly truncatedImportanceSampling: number;
  /** At least 0, of AdamW; null leaves it to the server. */
  readonly weightDecay: number | null;
}

/** What a request may give; null and absent mean the default. */
export type TrainingConfigInput = { readonly [Field in keyof TrainingConfig]?: TrainingConfig[Field] | null };

/** CISPO clips to [0, 5] by default; PPO to [0.8, 1.2], its upper bound following the lower. */
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

// The eleven fields of the experimental configuration: defaults and ranges. Formulas are in training/.

export const importanceSamplingLevels = ["token", "sequence", "average", "geometric_average"] as const;
export type ImportanceSamplingLevel = (typeof importanceSamplingLevels)[number];

/** The configuration as it takes effect; nulls were replaced by defaults. */
export interface TrainingConfig {
  /** [-1, 1]; positive shrinks negative advantages, negative shrinks positive ones. */
  readonly advantageBalance: number;
  /** At least 0: the lower clip bound is 1 - epsilon. */
  readonly epsilon: number;
  /** At least 0: the upper clip bound is 1 + epsilonHigh. */
  readonly epsilonHigh: number;
  readonly importanceSamplingLevel: ImportanceSamplingLevel;
  /** At least 0; 0 is off. */
  readonly k2Tau: number;
  /** Above 0. */
  readonly learningRate: number;
  readonly maskProbRatio: boolean;
  /** Caps every importance ratio; 0 is off. */
  readonly maxNegativeAdvantageImportanceSamplingWeight: number;
  /** True clips as PPO does, false as CISPO does. */
  readonly ppo: boolean;
  readonly precalculateLogprobs: boolean;
  readonly scaleRewards: boolean;
}

/** What a request may give; null and absent mean the default. */
export type TrainingConfigInput = { readonly [Field in keyof TrainingConfig]?: TrainingConfig[Field] | null };

/** CISPO clips to [0, 5] by default; PPO to [0.8, 1.2], its upper bound following the lower. */
export function resolveTrainingConfig(input: TrainingConfigInput): TrainingConfig {
  const ppo = input.ppo ?? false;
  const epsilon = input.epsilon ?? (ppo ? 0.2 : 1.0);
  return {
    advantageBalance: input.advantageBalance ?? 0,
    epsilon,
    epsilonHigh: input.epsilonHigh ?? (ppo ? epsilon : 4.0),
    importanceSamplingLevel: input.importanceSamplingLevel ?? "token",
    k2Tau: input.k2Tau ?? 0,
    learningRate: input.learningRate ?? 5e-6,
    maskProbRatio: input.maskProbRatio ?? false,
    maxNegativeAdvantageImportanceSamplingWeight: input.maxNegativeAdvantageImportanceSamplingWeight ?? 0,
    ppo,
    precalculateLogprobs: input.precalculateLogprobs ?? false,
    scaleRewards: input.scaleRewards ?? true,
  };
}

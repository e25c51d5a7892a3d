// The options of preference training, with their defaults. Formulas are in train/trainer/losses.
import type { BasePrecision } from "../trainer/base-precision.ts";

export const preferenceLosses = ["dpo", "ipo", "simpo", "kto"] as const;
export type PreferenceLossName = (typeof preferenceLosses)[number];

export const preferenceReferences = ["start", "base"] as const;
/** Whose log-probabilities answers are compared with: the version's that the job starts from, or the base model's. */
export type PreferenceReference = (typeof preferenceReferences)[number];

/** The configuration as it takes effect; nulls were replaced by defaults. */
export interface PreferenceConfig {
  readonly loss: PreferenceLossName;
  /**
   * Above 0: how much a log ratio counts, the β of DPO, SimPO and KTO and the τ of IPO. The greater, the nearer the model
   * stays to the reference.
   */
  readonly beta: number;
  /** [0, 0.5]: how often a preference is taken to be the wrong way round (cDPO), with `dpo` and `simpo`. */
  readonly labelSmoothing: number;
  /** At least 0: the γ of SimPO, by how much a chosen answer's reward is to exceed a rejected one's. */
  readonly gamma: number;
  /** Whether the mean over an answer's tokens counts, and not their sum. */
  readonly lengthNormalized: boolean;
  /** Above 0: what answers that people wanted count for, with `kto`. */
  readonly desirableWeight: number;
  /** Above 0: what the others count for, with `kto`. */
  readonly undesirableWeight: number;
  /** Null where the loss compares with none. */
  readonly reference: PreferenceReference | null;
  /** Of the products with the base model's weights; null leaves it to the server. */
  readonly basePrecision: BasePrecision | null;
  /** Pairs of one optimizer step, or judged answers with `kto`; at least 1. */
  readonly batchSize: number;
  /** Above 0. */
  readonly learningRate: number;
  /** How often the job trains on each of them; at least 1. */
  readonly epochCount: number;
  /** Whether the job's seed decides the order, another one for each epoch; else it is that in which they were sent. */
  readonly isShuffled: boolean;
  /** At least 0, of AdamW. */
  readonly weightDecay: number;
  /** At least 0: gradients are scaled down to this norm; 0 never scales. */
  readonly gradientNormMax: number;
}

/** What a request may give; null and absent mean the default. */
export type PreferenceConfigInput = {
  readonly [Field in keyof PreferenceConfig]?: PreferenceConfig[Field] | null;
};

/** What each loss takes where nothing is said: as TRL has them, and SimPO's β as its paper advises (arXiv:2405.14734). */
const defaultsOfLoss: {
  readonly [Loss in PreferenceLossName]: Pick<
    PreferenceConfig,
    "beta" | "gamma" | "lengthNormalized" | "reference"
  >;
} = {
  dpo: { beta: 0.1, gamma: 0, lengthNormalized: false, reference: "start" },
  ipo: { beta: 0.1, gamma: 0, lengthNormalized: true, reference: "start" },
  simpo: { beta: 2, gamma: 0.5, lengthNormalized: true, reference: null },
  kto: { beta: 0.1, gamma: 0, lengthNormalized: false, reference: "start" },
};

export function resolvePreferenceConfig(input: PreferenceConfigInput): PreferenceConfig {
  const loss = input.loss ?? "dpo";
  const { beta, gamma, lengthNormalized, reference } = defaultsOfLoss[loss];
  return {
    loss,
    beta: input.beta ?? beta,
    labelSmoothing: input.labelSmoothing ?? 0,
    gamma: input.gamma ?? gamma,
    lengthNormalized: input.lengthNormalized ?? lengthNormalized,
    desirableWeight: input.desirableWeight ?? 1,
    undesirableWeight: input.undesirableWeight ?? 1,
    reference: input.reference ?? reference,
    basePrecision: input.basePrecision ?? null,
    batchSize: input.batchSize ?? 8,
    learningRate: input.learningRate ?? 5e-5,
    epochCount: input.epochCount ?? 1,
    isShuffled: input.isShuffled ?? true,
    weightDecay: input.weightDecay ?? 0,
    gradientNormMax: input.gradientNormMax ?? 1,
  };
}

// Options of preference training, with their defaults. The formulas are in train/trainer/losses.
import {
  type PassesConfig,
  type Requested,
  resolvePasses,
  usualLearningRate,
} from "../trainer/passes-config.ts";

export const preferenceLosses = ["dpo", "ipo", "simpo", "kto"] as const;
export type PreferenceLossName = (typeof preferenceLosses)[number];

export const preferenceReferences = ["start", "base"] as const;
/** Reference policy of the loss: the version from which the job starts, or the base model. */
export type PreferenceReference = (typeof preferenceReferences)[number];

/** Options that a job uses: those of the request, and defaults for options that are null in the request. */
export interface PreferenceConfig extends PassesConfig {
  readonly loss: PreferenceLossName;
  /**
   * Weight of the log ratio, above 0: β in DPO, SimPO and KTO, and τ in IPO. Larger values keep the model closer to the
   * reference.
   */
  readonly beta: number;
  /** Probability that a preference label is flipped (cDPO), from 0 to 0.5. Used by `dpo` and `simpo`. */
  readonly labelSmoothing: number;
  /** Target reward margin between a chosen and a rejected answer, at least 0: γ in SimPO. */
  readonly gamma: number;
  /** True if the loss uses the mean over an answer's tokens; false if it uses their sum. */
  readonly lengthNormalized: boolean;
  /** Weight of desirable answers, above 0. Used by `kto`. */
  readonly desirableWeight: number;
  /** Weight of undesirable answers, above 0. Used by `kto`. */
  readonly undesirableWeight: number;
  /** Reference policy of the loss; null if the loss has none. */
  readonly reference: PreferenceReference | null;
  /** Learning rate; above 0. */
  readonly learningRate: number;
}

export type PreferenceConfigInput = Requested<PreferenceConfig>;

/** Number of pairs or labelled answers in a step by default. */
const usualBatchSize = 8;

/** Default options of each loss, as in TRL, except that SimPO's β follows its paper (arXiv:2405.14734). */
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
    ...resolvePasses(input, usualBatchSize),
    loss,
    beta: input.beta ?? beta,
    labelSmoothing: input.labelSmoothing ?? 0,
    gamma: input.gamma ?? gamma,
    lengthNormalized: input.lengthNormalized ?? lengthNormalized,
    desirableWeight: input.desirableWeight ?? 1,
    undesirableWeight: input.undesirableWeight ?? 1,
    reference: input.reference ?? reference,
    learningRate: input.learningRate ?? usualLearningRate,
  };
}

// Options of preference training, with defaults. Formulas are in train/trainer/losses.
import type { BasePrecision } from "../trainer/base-precision.ts";

export const preferenceLosses = ["dpo", "ipo", "simpo", "kto"] as const;
export type PreferenceLossName = (typeof preferenceLosses)[number];

export const preferenceReferences = ["start", "base"] as const;
/** Reference policy of the loss: the version that the job starts from, or the base model. */
export type PreferenceReference = (typeof preferenceReferences)[number];

/** Effective configuration: the request's options, with defaults for nulls. */
export interface PreferenceConfig {
  readonly loss: PreferenceLossName;
  /**
   * Above 0: weight of the log ratio, β in DPO, SimPO and KTO and τ in IPO. Larger values keep the model closer to the
   * reference.
   */
  readonly beta: number;
  /** [0, 0.5]: probability that a preference label is flipped (cDPO), for `dpo` and `simpo`. */
  readonly labelSmoothing: number;
  /** At least 0: target reward margin γ of SimPO between a chosen and a rejected answer. */
  readonly gamma: number;
  /** True if the loss uses the mean over an answer's tokens, false if it uses the sum. */
  readonly lengthNormalized: boolean;
  /** Above 0: weight of desirable answers, for `kto`. */
  readonly desirableWeight: number;
  /** Above 0: weight of undesirable answers, for `kto`. */
  readonly undesirableWeight: number;
  /** Reference policy; null if the loss has none. */
  readonly reference: PreferenceReference | null;
  /** Precision of multiplications with the base model's weights; null lets the server choose. */
  readonly basePrecision: BasePrecision | null;
  /** Number of pairs in one optimizer step, or of labelled answers with `kto`; at least 1. */
  readonly batchSize: number;
  /** Learning rate; above 0. */
  readonly learningRate: number;
  /** Number of epochs; at least 1. */
  readonly epochCount: number;
  /** True if each epoch has its own order, drawn from the job's seed; false for the order in which examples were sent. */
  readonly isShuffled: boolean;
  /** At least 0: weight decay of AdamW. */
  readonly weightDecay: number;
  /** At least 0: gradients are clipped to this norm; 0 disables clipping. */
  readonly gradientNormMax: number;
}

/** Options of a request; null or absent means the default. */
export type PreferenceConfigInput = {
  readonly [Field in keyof PreferenceConfig]?: PreferenceConfig[Field] | null;
};

/** Defaults of each loss: those of TRL, except SimPO's β, which follows its paper (arXiv:2405.14734). */
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

// Options of preference training, with their defaults. The formulas are in train/trainer/losses.
import type { BasePrecision } from "../trainer/base-precision.ts";

export const preferenceLosses = ["dpo", "ipo", "simpo", "kto"] as const;
export type PreferenceLossName = (typeof preferenceLosses)[number];

export const preferenceReferences = ["start", "base"] as const;
/** Reference policy of the loss: the version from which the job starts, or the base model. */
export type PreferenceReference = (typeof preferenceReferences)[number];

/** Options that a job uses: those of the request, and defaults for options that are null in the request. */
export interface PreferenceConfig {
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
  /** Precision of multiplications with the base model's weights; null lets the server choose. */
  readonly basePrecision: BasePrecision | null;
  /** Number of pairs, or with `kto` of labelled answers, in one optimizer step; at least 1. */
  readonly batchSize: number;
  /** Learning rate; above 0. */
  readonly learningRate: number;
  /** Number of epochs; at least 1. */
  readonly epochCount: number;
  /**
   * True if each epoch has its own order of examples, drawn from the job's seed. False if epochs keep the order in
   * which the examples were sent.
   */
  readonly isShuffled: boolean;
  /** Weight decay of AdamW, at least 0. */
  readonly weightDecay: number;
  /** Norm to which gradients are clipped, at least 0; 0 disables clipping. */
  readonly gradientNormMax: number;
  /**
   * Number of pairs at the end of the data that the job does not train on. It measures the loss on them after each epoch.
   * Absent if there are none.
   */
  readonly heldOutCount?: number;
  /** Seed from the request, on which the job's own seed depends; absent if the request has none. */
  readonly seed?: number;
}

/** Options as a request sends them. Null or absent means the default. */
export type PreferenceConfigInput = {
  readonly [Field in keyof PreferenceConfig]?: PreferenceConfig[Field] | null;
};

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
    ...(input.heldOutCount ? { heldOutCount: input.heldOutCount } : {}),
  };
}

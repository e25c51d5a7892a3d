// Sampling parameters. Values are validated at the API; the engine trusts them.
import type { Json, JsonObject } from "./text/json.ts";

/** Call of a logits processor that the operator registered by name. */
export interface LogitsProcessorCall {
  readonly name: string;
  readonly args: readonly Json[];
  readonly kwargs: JsonObject;
}

export interface SamplingParameters {
  /** 0 is greedy; otherwise at least 0.01. */
  readonly temperature: number;
  /** (0, 1]; 1 is off. */
  readonly topP: number;
  /** 0 is off; otherwise at least 1. */
  readonly topK: number;
  /** [0, 1]: minimum probability relative to the most probable token; 0 is off. */
  readonly minP: number;
  /** At least 0: excludes tokens whose logit is more than this many standard deviations below the maximum; 0 is off. */
  readonly topNSigma: number;
  /** Above 0: divides positive and multiplies negative logits of tokens in the prompt or answer; 1 is off. */
  readonly repetitionPenalty: number;
  /** [-2, 2]: subtracted from a logit for each occurrence of the token in the answer; 0 is off. */
  readonly frequencyPenalty: number;
  /** [-2, 2]: subtracted from a logit if the token occurs in the answer; 0 is off. */
  readonly presencePenalty: number;
  /** Bias added to the logits of these ids, each at most once. */
  readonly logitBias: readonly (readonly [id: number, bias: number])[];
  /** Only these may be drawn; null allows all. */
  readonly allowedTokenIds: readonly number[] | null;
  /** Sequences of ids that the answer must not contain; none is empty. */
  readonly badWords: readonly (readonly number[])[];
  /** Applied in this order. */
  readonly processors: readonly LogitsProcessorCall[];
  /** Arguments that the request passes to every processor, besides those of its call. */
  readonly extraArguments: JsonObject;
  /**
   * Makes the answer reproducible regardless of concurrent requests; choice i draws from a stream derived from (seed,
   * i).
   */
  readonly seed: number;
}

/** Sampling from the model's own distribution: every parameter is off. */
export const plainSampling: Omit<SamplingParameters, "seed"> = {
  temperature: 1,
  topP: 1,
  topK: 0,
  minP: 0,
  topNSigma: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  logitBias: [],
  allowedTokenIds: null,
  badWords: [],
  processors: [],
  extraArguments: {},
};

/** Parameters that an engine may lack, with the feature that any other value than the plain one needs. */
export const samplingFeatures = {
  minP: "min-p",
  topNSigma: "top-n-sigma",
  repetitionPenalty: "penalties",
  frequencyPenalty: "penalties",
  presencePenalty: "penalties",
  logitBias: "logit-bias",
  allowedTokenIds: "allowed-token-ids",
  badWords: "bad-words",
  processors: "logits-processors",
} as const satisfies { readonly [Parameter in keyof typeof plainSampling]?: string };

type FeatureParameter = keyof typeof samplingFeatures;

export type SamplingFeature = (typeof samplingFeatures)[FeatureParameter];

/**
 * Returns the features that these parameters need: those of values that differ from the plain ones. Null counts as
 * plain.
 */
export function askingParameters(
  sampling: Readonly<Record<FeatureParameter, unknown>>,
): readonly FeatureParameter[] {
  // The record's keys are the parameters.
  return (Object.keys(samplingFeatures) as FeatureParameter[]).filter((parameter) => {
    const plain = plainSampling[parameter];
    const value = sampling[parameter] ?? plain;
    return Array.isArray(plain) && Array.isArray(value) ? value.length > 0 : value !== plain;
  });
}

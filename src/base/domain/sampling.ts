// Sampling parameters. The API validates their values; the engine does not check them again.
import type { Json, JsonObject } from "./text/json.ts";

/** Call of a logits processor that the operator registered by name. */
export interface LogitsProcessorCall {
  readonly name: string;
  readonly args: readonly Json[];
  readonly kwargs: JsonObject;
}

export interface SamplingParameters {
  /** Temperature: 0 for greedy decoding; otherwise at least 0.01. */
  readonly temperature: number;
  /** Nucleus sampling, (0, 1]; 1 disables it. */
  readonly topP: number;
  /** Number of most probable tokens to sample from, at least 1; 0 disables the limit. */
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
  /** Biases to add to the logits of these token ids; each id occurs at most once. */
  readonly logitBias: readonly (readonly [id: number, bias: number])[];
  /** Token ids that may be drawn; null allows all. */
  readonly allowedTokenIds: readonly number[] | null;
  /** Sequences of token ids that the answer must not contain. No sequence is empty. */
  readonly badWords: readonly (readonly number[])[];
  /** Logits processors, in the order in which they are applied. */
  readonly processors: readonly LogitsProcessorCall[];
  /** Arguments that the request passes to every processor, in addition to those of the processor's call. */
  readonly extraArguments: JsonObject;
  /**
   * Seed, which makes the answer reproducible regardless of concurrent requests. Choice i draws from a stream derived
   * from (seed, i).
   */
  readonly seed: number;
}

/** Parameters for sampling from the model's own distribution: every parameter is off. */
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

/**
 * Parameters that some engines do not support. If a request's value differs from {@link plainSampling}, it needs the
 * named feature.
 */
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
 * Returns the features that these parameters need: one for each value that differs from {@link plainSampling}. Null
 * counts as equal.
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

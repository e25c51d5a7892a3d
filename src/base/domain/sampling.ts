// Sampling parameters. The API validates their values, so the engine does not check them again.
import type { Json, JsonObject } from "./text/json.ts";

/** Call of a logits processor, which the operator has registered under a name. */
export interface LogitsProcessorCall {
  readonly name: string;
  readonly args: readonly Json[];
  readonly kwargs: JsonObject;
}

export interface SamplingParameters {
  /** Temperature: 0 for greedy decoding, otherwise at least 0.01. */
  readonly temperature: number;
  /** Nucleus sampling: the total probability of the most probable tokens to sample from, above 0. With 1 it is off. */
  readonly topP: number;
  /** Number of most probable tokens to sample from, at least 1; 0 for no limit. */
  readonly topK: number;
  /** Minimum probability of a token relative to the most probable one, from 0 to 1. With 0 it is off. */
  readonly minP: number;
  /**
   * Excludes tokens whose logit is more than this many standard deviations below the maximum. At least 0; with 0 it is
   * off.
   */
  readonly topNSigma: number;
  /**
   * Penalty on tokens that occur in the prompt or the answer. Positive logits of these tokens are divided by the
   * penalty, negative ones are multiplied by it. Above 0; with 1 it is off.
   */
  readonly repetitionPenalty: number;
  /**
   * Penalty that is subtracted from a token's logit for each of its occurrences in the answer. From -2 to 2; with 0 it
   * is off.
   */
  readonly frequencyPenalty: number;
  /**
   * Penalty that is subtracted from a token's logit if the token occurs in the answer. From -2 to 2; with 0 it is off.
   */
  readonly presencePenalty: number;
  /** Values to add to the logits of these token ids. Each id occurs at most once. */
  readonly logitBias: readonly (readonly [id: number, bias: number])[];
  /** Ids of the tokens that may be drawn; null for all tokens. */
  readonly allowedTokenIds: readonly number[] | null;
  /** Sequences of token ids that the answer must not contain. No sequence is empty. */
  readonly badWords: readonly (readonly number[])[];
  /** Logits processors, in the order in which they are applied. */
  readonly processors: readonly LogitsProcessorCall[];
  /** Arguments from the request that every processor gets, in addition to the arguments of its own call. */
  readonly extraArguments: JsonObject;
  /**
   * Seed. With it, the answer can be reproduced, regardless of other requests. Choice i draws from a random stream
   * derived from (seed, i).
   */
  readonly seed: number;
}

/** Sampling parameters that change nothing: tokens are sampled from the model's own distribution. */
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
 * Parameters that some engines do not support. A request needs the named feature if its value differs from that in
 * {@link plainSampling}.
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
 * Returns the names of the parameters whose values differ from those in {@link plainSampling}, and therefore need a
 * feature of the engine. Null counts as no difference.
 */
export function askingParameters(
  sampling: Readonly<Record<FeatureParameter, unknown>>,
): readonly FeatureParameter[] {
  // Safe cast: the keys of the record are the parameters.
  return (Object.keys(samplingFeatures) as FeatureParameter[]).filter((parameter) => {
    const plain = plainSampling[parameter];
    const value = sampling[parameter] ?? plain;
    return Array.isArray(plain) && Array.isArray(value) ? value.length > 0 : value !== plain;
  });
}

// How the next token is drawn. Values are validated where they enter; the engine trusts them.
import type { Json, JsonObject } from "./text/json.ts";

/** A step on the logits that the operator has registered under a name. */
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
  /** [0, 1]: tokens less probable than this part of the most probable one are left out; 0 is off. */
  readonly minP: number;
  /** At least 0: tokens whose logit is more than so many standard deviations below the greatest are left out; 0 is off. */
  readonly topNSigma: number;
  /** Above 0: logits of tokens in prompt or answer are divided by it where positive, multiplied where negative; 1 is off. */
  readonly repetitionPenalty: number;
  /** [-2, 2]: subtracted from a logit once for each time the answer has the token; 0 is off. */
  readonly frequencyPenalty: number;
  /** [-2, 2]: subtracted from a logit where the answer has the token; 0 is off. */
  readonly presencePenalty: number;
  /** What is added to the logits of these ids, each at most once. */
  readonly logitBias: readonly (readonly [id: number, bias: number])[];
  /** Only these may be drawn; null allows all. */
  readonly allowedTokenIds: readonly number[] | null;
  /** Sequences of ids that the answer must not hold; none is empty. */
  readonly badWords: readonly (readonly number[])[];
  /** Applied in this order. */
  readonly processors: readonly LogitsProcessorCall[];
  /** What the request hands to every processor beside the arguments of its call. */
  readonly extraArguments: JsonObject;
  /** Makes the answer reproducible whatever else runs; choice i draws from a stream derived from (seed, i). */
  readonly seed: number;
}

/** Draws from the model's own distribution: of each parameter the value that asks for nothing. */
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

/** Parameters that an engine may lack, each with the feature that any but its plain value asks for. */
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

/** Which of these parameters ask for their feature: those that differ from the plain ones. Null stands for the plain one. */
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

// For tests: generation requests that each use one feature of an engine. A new feature without an entry does not
// compile.
import type { ConstraintOptions, ConstraintRule } from "../constraint.ts";
import type { EngineFeature, GenerationRequest } from "../generation.ts";
import type { SamplingParameters } from "../sampling.ts";

/**
 * Returns, for each feature, requests that need only this feature. The exception is the options for writing JSON, which
 * can only be set together with a constraint that produces JSON.
 */
export function featureRequests(
  plain: GenerationRequest,
): Readonly<Record<EngineFeature, readonly GenerationRequest[]>> {
  const sampling = (more: Partial<SamplingParameters>): GenerationRequest => ({
    ...plain,
    sampling: { ...plain.sampling, ...more },
  });
  const held = (rule: ConstraintRule, options: Partial<ConstraintOptions> = {}): GenerationRequest => ({
    ...plain,
    constraint: {
      ...rule,
      allowsAnyWhitespace: true,
      whitespacePattern: null,
      allowsAdditionalProperties: true,
      ...options,
    },
  });
  return {
    "min-p": [sampling({ minP: 0.1 })],
    "top-n-sigma": [sampling({ topNSigma: 1 })],
    penalties: [
      sampling({ repetitionPenalty: 1.1 }),
      sampling({ frequencyPenalty: -0.5 }),
      sampling({ presencePenalty: 0.5 }),
    ],
    "logit-bias": [sampling({ logitBias: [[3, 1]] })],
    "allowed-token-ids": [sampling({ allowedTokenIds: [3] })],
    "bad-words": [sampling({ badWords: [[3, 4]] })],
    "logits-processors": [sampling({ processors: [{ name: "p", args: [], kwargs: {} }] })],
    "min-tokens": [{ ...plain, stopping: { ...plain.stopping, minTokens: 1 } }],
    "prompt-logprobs": [{ ...plain, outputs: { ...plain.outputs, promptLogprobCount: 0 } }],
    "constraint-json-schema": [held({ kind: "json-schema", schema: "{}" })],
    "constraint-json-object": [held({ kind: "json-object" })],
    "constraint-regex": [held({ kind: "regex", pattern: "a" })],
    "constraint-choice": [held({ kind: "choice", choices: ["a"] })],
    "constraint-grammar": [held({ kind: "grammar", text: 'root ::= "a"' })],
    "constraint-structural-tag": [held({ kind: "structural-tag", tag: "{}" })],
    "constraint-compact-json": [held({ kind: "json-object" }, { allowsAnyWhitespace: false })],
    "constraint-whitespace-pattern": [held({ kind: "json-object" }, { whitespacePattern: " " })],
    "constraint-closed-objects": [held({ kind: "json-object" }, { allowsAdditionalProperties: false })],
    beam: [{ ...plain, choices: { kind: "beam", width: 2, lengthPenalty: 1 } }],
    priority: [
      { ...plain, priority: -1 },
      { ...plain, priority: 1 },
    ],
    "cache-salt": [{ ...plain, cacheSalt: "s" }],
    embeddings: [embeddingOf(plain)],
  };
}

/** Returns a request for the embedding of the prompt instead of an answer. */
export function embeddingOf(request: GenerationRequest): GenerationRequest {
  return {
    ...request,
    stopping: { ...request.stopping, maxTokens: 0 },
    outputs: { topLogprobCount: null, promptLogprobCount: null, embedding: true },
    choices: { kind: "sample", count: 1 },
  };
}

// For tests: requests that each ask for one feature. A new feature without an entry does not compile.
import type { EngineFeature, GenerationRequest } from "../generation.ts";
import type { SamplingParameters } from "../sampling.ts";

/** For each feature the ways to ask for it, and for nothing else beyond the plain request given. */
export function featureRequests(
  plain: GenerationRequest,
): Readonly<Record<EngineFeature, readonly GenerationRequest[]>> {
  const sampling = (more: Partial<SamplingParameters>): GenerationRequest => ({
    ...plain,
    sampling: { ...plain.sampling, ...more },
  });
  return {
    "min-p": [sampling({ minP: 0.1 })],
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
    constraint: [
      {
        ...plain,
        constraint: {
          kind: "json-object",
          allowsAnyWhitespace: true,
          whitespacePattern: null,
          allowsAdditionalProperties: true,
        },
      },
    ],
    beam: [{ ...plain, choices: { kind: "beam", width: 2, lengthPenalty: 1 } }],
    priority: [
      { ...plain, priority: -1 },
      { ...plain, priority: 1 },
    ],
    "cache-salt": [{ ...plain, cacheSalt: "s" }],
    transfer: [{ ...plain, transfer: {} }],
  };
}

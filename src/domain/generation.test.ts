import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf, type EngineFeature, type GenerationRequest } from "./generation.ts";
import { plainSampling, type SamplingParameters } from "./sampling.ts";

const plain: GenerationRequest = {
  id: "r",
  prompt: { tokenIds: [1], adapter: { id: "m:1", folder: "f" } },
  sampling: { ...plainSampling, temperature: 0.7, topP: 0.9, topK: 5, seed: 1 },
  constraint: null,
  stopping: { maxTokens: 4, minTokens: 0, stopTokenIds: [2] },
  outputs: { topLogprobCount: 3, promptLogprobCount: null },
  choices: { kind: "sample", count: 3 },
  priority: 0,
  cacheSalt: null,
  transfer: null,
};

const sampling = (more: Partial<SamplingParameters>): Partial<GenerationRequest> => ({
  sampling: { ...plain.sampling, ...more },
});

/** For each feature the requests that ask for it; a new feature without an entry does not compile. */
const askers: Readonly<Record<EngineFeature, readonly Partial<GenerationRequest>[]>> = {
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
  "min-tokens": [{ stopping: { ...plain.stopping, minTokens: 1 } }],
  "prompt-logprobs": [{ outputs: { ...plain.outputs, promptLogprobCount: 0 } }],
  constraint: [
    {
      constraint: {
        kind: "json-object",
        allowsAnyWhitespace: true,
        whitespacePattern: null,
        allowsAdditionalProperties: true,
      },
    },
  ],
  beam: [{ choices: { kind: "beam", width: 2, lengthPenalty: 1 } }],
  priority: [{ priority: -1 }, { priority: 1 }],
  "cache-salt": [{ cacheSalt: "s" }],
  transfer: [{ transfer: {} }],
};

test("a plain request asks for no feature", () => {
  assert.deepEqual(featuresOf(plain), []);
});

test("each feature is asked for by its own fields alone", () => {
  for (const [feature, requests] of Object.entries(askers)) {
    for (const more of requests) assert.deepEqual(featuresOf({ ...plain, ...more }), [feature]);
  }
});

test("a request that asks for several names them all", () => {
  const request = { ...plain, ...sampling({ minP: 0.1, logitBias: [[1, 1]] }), priority: 2 };
  assert.deepEqual(new Set(featuresOf(request)), new Set(["min-p", "logit-bias", "priority"]));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { constraintFeaturesOf, featuresOf, type GenerationRequest } from "./generation.ts";
import { askingParameters, plainSampling } from "./sampling.ts";
import { featureRequests } from "./testing/feature-requests.ts";

const plain: GenerationRequest = {
  id: "r",
  prompt: { tokenIds: [1], adapter: { id: "m:1", folder: "f" } },
  sampling: { ...plainSampling, temperature: 0.7, topP: 0.9, topK: 5, seed: 1 },
  constraint: null,
  stopping: { maxTokens: 4, minTokens: 0, stopTokenIds: [2] },
  outputs: { topLogprobCount: 3, promptLogprobCount: null },
  choices: { kind: "sample", count: 3 },
  priority: 0,
  cacheOwner: "",
  cacheSalt: null,
};

test("a plain request needs no feature", () => {
  assert.deepEqual(featuresOf(plain), []);
});

test("only its own fields request a feature", () => {
  for (const [feature, requests] of Object.entries(featureRequests(plain))) {
    for (const request of requests) {
      // A request can set the JSON notation only together with a constraint to JSON.
      const isOfJson = request.constraint?.kind === "json-object" && feature !== "constraint-json-object";
      assert.deepEqual(featuresOf(request), isOfJson ? ["constraint-json-object", feature] : [feature]);
    }
  }
});

test("the notation of JSON requests nothing without a JSON constraint", () => {
  const options = { allowsAnyWhitespace: false, whitespacePattern: " ", allowsAdditionalProperties: false };
  const constraint = { kind: "regex", pattern: "a", ...options } as const;
  assert.deepEqual(featuresOf({ ...plain, constraint }), ["constraint-regex"]);
  assert.deepEqual(constraintFeaturesOf(constraint), ["constraint-regex"]);
  assert.deepEqual(constraintFeaturesOf(null), []);
});

test("lists all features of a request that needs several", () => {
  const sampling = { ...plain.sampling, minP: 0.1, logitBias: [[1, 1]] as const };
  const request = { ...plain, sampling, priority: 2 };
  assert.deepEqual(new Set(featuresOf(request)), new Set(["min-p", "logit-bias", "priority"]));
});

test("default and absent parameters request nothing; an empty list of allowed tokens does", () => {
  const none = { ...plainSampling, minP: null, logitBias: null, badWords: null, processors: null };
  assert.deepEqual(askingParameters(none), []);
  assert.deepEqual(askingParameters(plainSampling), []);
  assert.deepEqual(askingParameters({ ...none, badWords: ["a"], presencePenalty: -1, allowedTokenIds: [] }), [
    "presencePenalty",
    "allowedTokenIds",
    "badWords",
  ]);
});

// Tests how sampling and stopping are resolved from the request, the makers' defaults and neutral values.
import assert from "node:assert/strict";
import { test } from "node:test";
import { plainSampling, type SamplingParameters } from "../../base/domain/sampling.ts";
import { loadTokenizer } from "../../lib/tokenizer/tokenizer.ts";
import { resolveSampling, resolveStopping } from "./resolve-sampling.ts";
import type { GenerationDefaults } from "./served-base.ts";
import { chatRequest, type RequestChanges } from "./testing/chat-request.ts";
import { noDefaults } from "./testing/no-defaults.ts";

const tokenizer = await loadTokenizer("test/fixtures/goldens/models/qwen3");
const endOfText = tokenizer.endOfTextId ?? assert.fail("the fixture has an end of text");

function checkSampling(
  sampling: RequestChanges["sampling"],
  expected: Partial<SamplingParameters>,
  defaults: Partial<GenerationDefaults> = {},
  badWordIds: readonly (readonly number[])[] = [],
): void {
  const actual = resolveSampling(
    chatRequest({ sampling: { seed: 5, ...sampling } }),
    { defaults: { ...noDefaults([endOfText]), ...defaults } },
    { badWordIds, vocabularySize: 512 },
  );
  assert.deepEqual(actual, { ...plainSampling, seed: 5, ...expected });
}

function checkStopping(
  stopping: RequestChanges["stopping"],
  expected: { readonly stopTokenIds: readonly number[]; readonly endOfTextId: number | null },
  defaults: Partial<GenerationDefaults> = {},
): void {
  const base = { tokenizer, defaults: { ...noDefaults([endOfText]), ...defaults } };
  const actual = resolveStopping(chatRequest({ stopping }), base, 40);
  assert.deepEqual(actual.stopping.stopTokenIds, expected.stopTokenIds);
  assert.equal(actual.endOfTextId, expected.endOfTextId);
}

test("uses the makers' defaults for fields that the request omits", () => {
  checkSampling({}, {});
  const made = { temperature: 0.6, topP: 0.9, topK: 20, minP: 0.05, repetitionPenalty: 1.1 };
  checkSampling({}, made, made);
  const asked = { temperature: 1, topP: 1, topK: 0, minP: 0, repetitionPenalty: 1 };
  checkSampling(asked, asked, made);
});

test("treats a tiny temperature as greedy, and raises a small one to the minimum", () => {
  const cut = { topP: 0.5, topK: 3 };
  checkSampling({ ...cut, temperature: 9e-6 }, { temperature: 0 });
  checkSampling({ ...cut, temperature: 1e-5 }, { ...cut, temperature: 0.01 });
  checkSampling({ temperature: 0 }, { temperature: 0, repetitionPenalty: 1.2 }, { repetitionPenalty: 1.2 });
});

test("normalizes every value that means off to 0, and clamps biases to between -100 and 100", () => {
  for (const topK of [0, 512, 9999]) checkSampling({ topK }, { topK: 0 });
  checkSampling({ topK: 511 }, { topK: 511 });
  const logitBias = [
    [1, 1e9],
    [2, -101],
    [3, 0.5],
  ] as const;
  const kept = [
    [1, 100],
    [2, -100],
    [3, 0.5],
  ] as const;
  checkSampling({ logitBias }, { logitBias: kept });
});

test("drops bad words without tokens", () => {
  checkSampling({ badWords: ["a", "b"] }, { badWords: [[7], [8, 9]] }, {}, [[7], [], [8, 9]]);
});

test("draws a random seed for -1 and for an omitted seed", () => {
  const seeds = [null, -1, null, -1].map((seed) => {
    const request = chatRequest({ sampling: { seed } });
    return resolveSampling(request, { defaults: noDefaults([2]) }, { badWordIds: [], vocabularySize: 512 })
      .seed;
  });
  assert.equal(new Set(seeds).size, 4);
});

test("ends an answer at the request's stop tokens and the model's, or only at the request's", () => {
  const further = { endTokenIds: [endOfText, 300] };
  checkStopping({}, { stopTokenIds: [endOfText, 300], endOfTextId: endOfText }, further);
  checkStopping(
    { stopTokenIds: [9, 300, 9] },
    { stopTokenIds: [endOfText, 300, 9], endOfTextId: endOfText },
    further,
  );
  checkStopping({ ignoreEndTokens: true }, { stopTokenIds: [], endOfTextId: null }, further);
  // If the request lists the end-of-text token itself, it is an ordinary stop token, and its id is the stop reason.
  checkStopping(
    { ignoreEndTokens: true, stopTokenIds: [9, endOfText] },
    { stopTokenIds: [9, endOfText], endOfTextId: null },
    further,
  );
});

test("caps lengths by the remaining room", () => {
  const resolved = (stopping: RequestChanges["stopping"], maxTokens: number | null = null) => {
    const base = { tokenizer, defaults: { ...noDefaults([2]), maxTokens } };
    const { stopping: actual } = resolveStopping(chatRequest({ stopping }), base, 40);
    return [actual.minTokens, actual.maxTokens];
  };
  assert.deepEqual(resolved({}), [0, 40]);
  assert.deepEqual(resolved({}, 30), [0, 30]);
  assert.deepEqual(resolved({ maxTokens: 35 }, 30), [0, 35]);
  assert.deepEqual(resolved({ maxTokens: 900, minTokens: 50 }), [40, 40]);
  assert.deepEqual(resolved({ minTokens: 35 }, 30), [35, 35]);
});

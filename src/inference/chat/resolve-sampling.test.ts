// What becomes of sampling and stopping where a request says something, its model's makers do, or nobody.
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

test("what the model's makers recommend holds where the request says nothing", () => {
  checkSampling({}, {});
  const made = { temperature: 0.6, topP: 0.9, topK: 20, minP: 0.05, repetitionPenalty: 1.1 };
  checkSampling({}, made, made);
  const asked = { temperature: 1, topP: 1, topK: 0, minP: 0, repetitionPenalty: 1 };
  checkSampling(asked, asked, made);
});

test("a temperature next to nothing is greedy, and a small one is raised", () => {
  const cut = { topP: 0.5, topK: 3 };
  checkSampling({ ...cut, temperature: 9e-6 }, { temperature: 0 });
  checkSampling({ ...cut, temperature: 1e-5 }, { ...cut, temperature: 0.01 });
  checkSampling({ temperature: 0 }, { temperature: 0, repetitionPenalty: 1.2 }, { repetitionPenalty: 1.2 });
});

test("spellings of off are one, and biases stay between -100 and 100", () => {
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

test("bad words without tokens are dropped", () => {
  checkSampling({ badWords: ["a", "b"] }, { badWords: [[7], [8, 9]] }, {}, [[7], [], [8, 9]]);
});

test("-1 and none are a fresh seed", () => {
  const seeds = [null, -1, null, -1].map((seed) => {
    const request = chatRequest({ sampling: { seed } });
    return resolveSampling(request, { defaults: noDefaults([2]) }, { badWordIds: [], vocabularySize: 512 })
      .seed;
  });
  assert.equal(new Set(seeds).size, 4);
});

test("the request's stop tokens end an answer beside the model's, and alone where these are to be ignored", () => {
  const further = { endTokenIds: [endOfText, 300] };
  checkStopping({}, { stopTokenIds: [endOfText, 300], endOfTextId: endOfText }, further);
  checkStopping(
    { stopTokenIds: [9, 300, 9] },
    { stopTokenIds: [endOfText, 300, 9], endOfTextId: endOfText },
    further,
  );
  checkStopping({ ignoreEndTokens: true }, { stopTokenIds: [], endOfTextId: null }, further);
  // The end of text is a stop token like any other then, with its id as the reason.
  checkStopping(
    { ignoreEndTokens: true, stopTokenIds: [9, endOfText] },
    { stopTokenIds: [9, endOfText], endOfTextId: null },
    further,
  );
});

test("lengths are cut to the room that is left", () => {
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

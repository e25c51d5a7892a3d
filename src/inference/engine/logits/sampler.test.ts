// Tests the sampler against the definitions of the sampling parameters. With any parameters and the same random number,
// it must draw the token that the definitions draw. The counts of many draws must fit the distribution.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GeneratedToken, GenerationRequest } from "../../../base/domain/generation.ts";
import { seededRandom, type Random } from "../../../base/domain/random.ts";
import type { SamplingParameters } from "../../../base/domain/sampling.ts";
import { choice } from "../../../lib/constraints/grammar/testing/make-constraints.ts";
import type { TokenMask } from "../token-masks/constraint-backend.ts";
import { drawInputOf } from "../testing/draw-inputs.ts";
import {
  drawPlainly,
  plainDistribution,
  plainLogprobs,
  rankedIds,
  type PlainAllowance,
} from "../testing/plain-sampler.ts";
import { requestOf, type ShortRequest } from "../testing/run-loop.ts";
import { drawRulesOf, type DrawInput, type ScoreProcessor } from "./draw-input.ts";
import { Sampler } from "./sampler.ts";
import { choosingSteps, forbiddingSteps, shiftingSteps } from "./steps.ts";
import { searchCount, searchSeeds } from "../../../base/domain/testing/search.ts";

function randomLogits(seed: number, size: number): Float32Array {
  const random = seededRandom("logits", seed);
  return Float32Array.from({ length: size }, () => 12 * (random.uniform() - 0.5) * random.uniform());
}

function drawn(sampler: Sampler, logits_V: Float32Array, input: DrawInput): GeneratedToken {
  const token = sampler.draw(logits_V, input);
  assert.ok(typeof token !== "string", "a token is drawn");
  return token;
}

function sampled(sampling: Partial<SamplingParameters>, more: ShortRequest = {}): GenerationRequest {
  return requestOf([1], { ...more, sampling: { temperature: 1, ...sampling } });
}

/** Returns logits with unusual values: ties, zeros of both signs, extremes, or negative infinity. */
function strangeLogits(random: Random, size: number): Float32Array {
  const kind = random.index(5);
  return Float32Array.from({ length: size }, (_, id) => {
    if (kind === 0) return random.index(4) - 2;
    if (kind === 1) return random.index(3) === 0 ? -0 : 0;
    if (kind === 2 && random.index(20) === 0) return random.index(2) === 0 ? 3e38 : -3e38;
    if (kind === 3 && id > 0 && random.index(4) === 0) return -Infinity;
    return 12 * (random.uniform() - 0.5);
  });
}

function randomRequest(random: Random, size: number): GenerationRequest {
  const pick = <T>(items: readonly T[]): T => items[random.index(items.length)];
  const ids = (count: number): readonly number[] => Array.from({ length: count }, () => random.index(size));
  const sampling: Partial<SamplingParameters> = {
    temperature: pick([0, 0.01, 0.7, 1, 3]),
    topP: pick([1, 1, 1e-9, 0.999, 0.05 + 0.9 * random.uniform()]),
    topK: pick([0, 0, 1, 5, 30, 200]),
    minP: pick([0, 0, 1, 1e-9, random.uniform() / 3]),
    topNSigma: pick([0, 0, 1, 0.3, 2 * random.uniform()]),
    repetitionPenalty: pick([1, 1, 1.3, 0.5, 1e-50, 1e50]),
    frequencyPenalty: pick([0, 0, 0.7, -2]),
    presencePenalty: pick([0, 0, 2, -1.1]),
    logitBias: pick([[], [], new Set(ids(5)), new Set(ids(40))].map((some) => [...some])).map((id) => [
      id,
      pick([-100, 100, 2.5, -1, 1e-3]),
    ]),
    allowedTokenIds: pick([null, null, ids(1), ids(10), ids(300)]),
    badWords: pick([[], [ids(1)], [ids(2), ids(3), ids(1)], Array.from({ length: 30 }, () => ids(2))]),
  };
  return {
    ...requestOf(ids(1 + random.index(20)), { sampling }),
    constraint: pick([null, null, choice("held")]),
    stopping: { maxTokens: 40, minTokens: pick([0, 0, 3, 40]), stopTokenIds: pick([[], ids(1), ids(4)]) },
  };
}

function randomAllowance(random: Random, size: number): PlainAllowance & TokenMask {
  const part = [0, 0.02, 0.4, 0.8, 1][random.index(5)];
  const ids = new Set(Array.from({ length: size }, (_, id) => id).filter(() => random.uniform() < part));
  const allowed = new Uint32Array(1 + random.index(Math.ceil(size / 32) + 1));
  for (const id of ids) allowed[id >>> 5] |= 1 << (id & 31);
  for (const id of ids) if (id >= 32 * allowed.length) ids.delete(id);
  return { ids, allowed, mayEnd: random.index(2) === 0 };
}

test("draws the token of the definitions for any combination of parameters", () => {
  const sizes = [33, 64, 80, 300, 1500];
  const samplers = sizes.map((size) => new Sampler(size));
  let nothingCount = 0;
  for (const seed of searchSeeds(150)) {
    const random = seededRandom("combined", seed);
    const which = seed % 25 === 0 ? 4 : seed % 4;
    const size = sizes[which];
    const sampler = samplers[which];
    const request = randomRequest(random, size);
    const logits_V = strangeLogits(random, size);
    const before = logits_V.slice();
    const allowance = request.constraint === null ? null : randomAllowance(random, size);
    // The answer grows with each draw, so the counts for penalties grow too.
    const answer: number[] = [];
    const input = drawInputOf(request, { mask: allowance, random: seededRandom(seed), answer });
    const other = seededRandom(seed);
    for (let length = 0; length < 12; length++) {
      const expected = drawPlainly([...logits_V], { request, answer, allowance }, () => other.uniform());
      const token = sampler.draw(logits_V, input);
      const actual = typeof token === "string" ? token : token.id;
      if (expected === null) nothingCount += 1;
      assert.equal(actual, expected ?? "nothing allowed", `seed ${seed}, after ${length} tokens`);
      if (expected === null) break;
      answer.push(random.index(3) === 0 ? random.index(size) : expected);
    }
    assert.deepEqual(logits_V, before);
  }
  assert.ok(nothingCount > searchCount(4), `${nothingCount} times nothing was allowed`);
});

/**
 * Draws many times and compares the counts with the defined distribution, by a chi-square test over tokens that are
 * expected at least five times.
 */
function checkCounts(
  logits_V: Float32Array,
  request: GenerationRequest,
  answer: readonly number[] = [],
): void {
  const sampler = new Sampler(logits_V.length);
  const random = seededRandom("draws", JSON.stringify(request.sampling));
  const input = drawInputOf(request, { random, answer });
  const drawCount = searchCount(10_000);
  const counts = new Float64Array(logits_V.length);
  for (let draw = 0; draw < drawCount; draw++) counts[drawn(sampler, logits_V, input).id] += 1;
  const context = JSON.stringify(request.sampling);
  const left = plainDistribution([...logits_V], { request, answer, allowance: null });
  const total = left.reduce((sum, { weight }) => sum + weight, 0);
  const expectedCounts = new Float64Array(logits_V.length);
  for (const { id, weight } of left) expectedCounts[id] = (drawCount * weight) / total;
  let chiSquare = 0;
  let freedom = -1;
  expectedCounts.forEach((expected, id) => {
    if (expected === 0) assert.equal(counts[id], 0, `${context}: token ${id} is left out`);
    if (expected < 5) return;
    chiSquare += (counts[id] - expected) ** 2 / expected;
    freedom += 1;
  });
  // The limit is four standard deviations above the mean of the chi-square distribution.
  const limit = freedom + 4 * Math.sqrt(2 * Math.max(1, freedom));
  assert.ok(chiSquare <= limit, `${context}: chi-square ${chiSquare} of at most ${limit}`);
}

test("counts of many draws fit the distribution that the parameters define", () => {
  const logits_V = randomLogits(1, 60);
  for (const sampling of [
    {},
    { temperature: 0.5 },
    { temperature: 2 },
    { topK: 5 },
    { topP: 0.9 },
    { minP: 0.1 },
    { topNSigma: 1 },
    { temperature: 0.7, topK: 20, topP: 0.8, minP: 0.02 },
  ]) {
    checkCounts(logits_V, sampled(sampling));
  }
  const shifting = {
    repetitionPenalty: 1.5,
    frequencyPenalty: 0.4,
    presencePenalty: -0.6,
    logitBias: [[3, 2] as const, [7, -100] as const],
    badWords: [[4], [9, 11]],
  };
  checkCounts(logits_V, sampled(shifting), [3, 5, 5, 9]);
  checkCounts(logits_V, sampled({ ...shifting, allowedTokenIds: [1, 4, 5, 9, 11, 12] }), [3, 5, 5, 9]);
});

test("keeps all tokens that tie with the k-th", () => {
  checkCounts(Float32Array.of(3, 2, 2, 2, 1, 0), sampled({ topK: 2 }));
});

test("greedy takes the greatest, and the lowest id of equals", () => {
  const sampler = new Sampler(5);
  const input = drawInputOf(requestOf([1]));
  assert.equal(drawn(sampler, Float32Array.of(1, 3, 2, 3, 0), input).id, 1);
  assert.equal(drawn(sampler, Float32Array.of(-Infinity, -5, -Infinity, -5, -9), input).id, 1);
});

test("log-probabilities and alternatives are raw for any parameters", () => {
  const logits_V = randomLogits(7, 300);
  logits_V[10] = logits_V[20];
  const logprobs = plainLogprobs([...logits_V]);
  const order = rankedIds([...logits_V]);
  for (const [sampling, topLogprobCount] of [
    [{ temperature: 0.6, topP: 0.5 }, 20],
    [{ temperature: 0 }, 0],
    [{ logitBias: [[5, 100]], repetitionPenalty: 1.4, frequencyPenalty: 1 }, 3],
    [{ allowedTokenIds: [17, 200], badWords: [[17]] }, 300],
    [{ allowedTokenIds: order.slice(1), minP: 0.5 }, 1],
  ] as const) {
    const input = drawInputOf(sampled(sampling, { topLogprobCount }), { answer: [1, 2, 3] });
    const { id, logprob, alternatives } = drawn(new Sampler(300), logits_V, input);
    assert.ok(Math.abs(logprob - logprobs[id]) < 1e-12);
    assert.deepEqual(
      alternatives.map((alternative) => alternative.id),
      order.slice(0, topLogprobCount),
    );
    for (const other of alternatives) assert.ok(Math.abs(other.logprob - logprobs[other.id]) < 1e-12);
  }
});

test("refuses NaN scores, and reports if no token may come", () => {
  const draw = (values: readonly number[], sampling: Partial<SamplingParameters>) =>
    new Sampler(3).draw(Float32Array.from(values), drawInputOf(sampled(sampling)));
  assert.equal(draw([NaN, NaN, NaN], { temperature: 0 }), "broken scores");
  assert.equal(draw([1, NaN, 2], { temperature: 0.7 }), "broken scores");
  assert.equal(draw([1, NaN, 2], { temperature: 0.7, logitBias: [[0, 1]] }), "broken scores");
  assert.equal(draw([-Infinity, -Infinity, -Infinity], {}), "broken scores");
  assert.equal(draw([1, 2, 3], { allowedTokenIds: [1], badWords: [[1]] }), "nothing allowed");
  assert.equal(draw([1, -Infinity, 3], { allowedTokenIds: [1] }), "nothing allowed");
});

test("runs only the steps that a request asks for, in this order", () => {
  const needed = (
    sampling: Partial<SamplingParameters>,
    stopping = { minTokens: 0, stopTokenIds: [] as number[] },
  ) => {
    const request = sampled(sampling);
    const rules = drawRulesOf({ ...request, stopping: { ...request.stopping, ...stopping } });
    return [...forbiddingSteps, ...shiftingSteps, ...choosingSteps].flatMap(({ isNeeded, name }) =>
      isNeeded(rules) ? [name] : [],
    );
  };
  assert.deepEqual(needed({}), ["temperature", "draw"]);
  assert.deepEqual(needed({ topP: 0.5, topK: 3, minP: 0.1, topNSigma: 1 }), [
    "temperature",
    "top-n-sigma",
    "min-p",
    "top-k",
    "top-p",
    "draw",
  ]);
  assert.deepEqual(needed({ temperature: 0, topP: 0.5, topK: 3, minP: 0.1, topNSigma: 1 }), ["greedy"]);
  const everything = {
    temperature: 0,
    allowedTokenIds: [1],
    badWords: [[1]],
    logitBias: [[1, 1] as const],
    processors: [{ name: "p", args: [], kwargs: {} }],
    repetitionPenalty: 2,
    frequencyPenalty: 1,
    presencePenalty: 1,
  };
  assert.deepEqual(needed(everything, { minTokens: 1, stopTokenIds: [2] }), [
    "allowed ids",
    "bad words",
    "min tokens",
    "bias",
    "processors",
    "repetition",
    "frequency",
    "presence",
    "greedy",
  ]);
  assert.deepEqual(needed({}, { minTokens: 1, stopTokenIds: [] }), ["temperature", "draw"]);
});

test("processors see forbidden tokens, biased scores and the tokens so far, and lift no ban", () => {
  const seen: unknown[] = [];
  const processor: ScoreProcessor = {
    apply: (scores_V, { answerIds, prompt }) => {
      seen.push([[...scores_V], [...answerIds], prompt.ids]);
      scores_V.fill(9, 0, 2);
      scores_V[3] = -Infinity;
    },
  };
  const sampling = {
    temperature: 0,
    processors: [{ name: "p", args: [], kwargs: {} }],
    logitBias: [[2, 1]] as const,
  };
  const draw = (more: Partial<SamplingParameters>): number => {
    const request = sampled({ ...sampling, ...more });
    const input = drawInputOf(request, { processors: [processor], answer: [3, 2] });
    return drawn(new Sampler(4), Float32Array.of(1, 2, 3, 9), input).id;
  };
  assert.equal(draw({}), 0);
  assert.equal(draw({ badWords: [[0], [1]] }), 2);
  assert.equal(draw({ allowedTokenIds: [3, 2, 1], badWords: [[3, 2, 1]] }), 2);
  assert.deepEqual(seen, [
    [[1, 2, 4, 9], [3, 2], [1]],
    [[-Infinity, -Infinity, 4, 9], [3, 2], [1]],
    [[-Infinity, -Infinity, 4, 9], [3, 2], [1]],
  ]);
});

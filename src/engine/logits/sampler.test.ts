import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../domain/random.ts";
import { plainSampling, type SamplingParameters } from "../../domain/sampling.ts";
import { Sampler } from "./sampler.ts";
import { logitsSteps } from "./steps.ts";

const plain: SamplingParameters = { ...plainSampling, seed: 0 };

const randomLogits = (seed: number, size: number): Float32Array => {
  const random = seededRandom("logits", seed);
  return Float32Array.from({ length: size }, () => 12 * (random.uniform() - 0.5) * random.uniform());
};

/** The distribution by the definitions, with sorting and without any of the sampler's shortcuts. */
const exact = (logits: Float32Array, { temperature, topK, topP }: SamplingParameters): readonly number[] => {
  const ids = [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b);
  const max = logits[ids[0]];
  const weights = [...logits].map((logit) => Math.exp((logit - max) / temperature));
  const isKept = weights.map(() => true);
  if (topK > 0) for (const id of ids) isKept[id] = logits[id] >= logits[ids[Math.min(topK, ids.length) - 1]];
  const total = weights.reduce((sum, weight, id) => sum + (isKept[id] ? weight : 0), 0);
  let dropped = 0;
  for (const id of ids.slice(1).toReversed()) {
    if (!isKept[id]) continue;
    if (topP === 1 || dropped + weights[id] > (1 - topP) * total) break;
    dropped += weights[id];
    isKept[id] = false;
  }
  const left = weights.reduce((sum, weight, id) => sum + (isKept[id] ? weight : 0), 0);
  return weights.map((weight, id) => (isKept[id] ? weight / left : 0));
};

/** Draws often and compares the counts with the definition, by chi-square over what is expected at least five times. */
const check = (logits: Float32Array, more: Partial<SamplingParameters>): void => {
  const sampling = { ...plain, ...more };
  const sampler = new Sampler(logits.length);
  const random = seededRandom("draws", JSON.stringify(more));
  const drawCount = 20_000;
  const counts = new Float64Array(logits.length);
  for (let draw = 0; draw < drawCount; draw++) {
    const token = sampler.draw(logits, { sampling, random, topLogprobCount: null });
    assert.ok(token !== null && Number.isNaN(token.logprob));
    counts[token.id] += 1;
  }
  let chiSquare = 0;
  let freedom = -1;
  exact(logits, sampling).forEach((probability, id) => {
    if (probability === 0) assert.equal(counts[id], 0, `token ${id} is cut off`);
    const expected = probability * drawCount;
    if (expected < 5) return;
    chiSquare += (counts[id] - expected) ** 2 / expected;
    freedom += 1;
  });
  // Five standard deviations above the mean of the chi-square distribution.
  const limit = freedom + 5 * Math.sqrt(2 * Math.max(1, freedom));
  assert.ok(chiSquare <= limit, `${JSON.stringify(more)}: chi-square ${chiSquare} of at most ${limit}`);
};

test("draws from the distribution that temperature, top-k and top-p define", () => {
  const logits = randomLogits(1, 60);
  for (const more of [
    {},
    { temperature: 0.5 },
    { temperature: 2 },
    { topK: 5 },
    { topK: 1 },
    { topK: 500 },
    { topP: 0.9 },
    { topP: 0.3 },
    { topP: 1e-9 },
    { temperature: 0.7, topK: 20, topP: 0.8 },
  ]) {
    check(logits, more);
  }
});

test("keeps exactly the tokens that the definitions keep", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = seededRandom("kept", seed);
    const logits = randomLogits(seed, 200);
    const sampling = {
      ...plain,
      topK: random.index(50),
      topP: 0.05 + 0.95 * random.uniform(),
      temperature: 0.2 + 2 * random.uniform(),
    };
    const kept = new Set(exact(logits, sampling).flatMap((probability, id) => (probability > 0 ? [id] : [])));
    // Numbers spread over [0, 1) reach every kept token that has at least a thousandth of the weight.
    const reached = new Set<number>();
    const sampler = new Sampler(logits.length);
    for (let step = 0; step < 1000; step++) {
      const uniform = (): number => (step + 0.5) / 1000;
      const fixed = { ...random, uniform };
      reached.add(sampler.draw(logits, { sampling, random: fixed, topLogprobCount: null })?.id ?? -1);
    }
    for (const id of reached) assert.ok(kept.has(id), `seed ${seed}: ${id} was cut off`);
    exact(logits, sampling).forEach((probability, id) => {
      if (probability > 0.001) assert.ok(reached.has(id), `seed ${seed}: ${id} is reached`);
    });
  }
});

test("tokens that tie with the k-th all stay", () => {
  check(Float32Array.of(3, 2, 2, 2, 1, 0), { topK: 2 });
});

test("greedy takes the greatest, and the lowest id of equals", () => {
  const sampler = new Sampler(5);
  const options = {
    sampling: { ...plain, temperature: 0 },
    random: seededRandom(1),
    topLogprobCount: null,
  };
  assert.equal(sampler.draw(Float32Array.of(1, 3, 2, 3, 0), options)?.id, 1);
  assert.equal(sampler.draw(Float32Array.of(-Infinity, -5, -Infinity, -5, -9), options)?.id, 1);
});

test("gives raw log-probabilities and the true top alternatives in order", () => {
  const logits = randomLogits(7, 300);
  logits[10] = logits[20];
  const naive = [...logits].map(
    (logit) => logit - Math.log([...logits].reduce((sum, other) => sum + Math.exp(other), 0)),
  );
  const order = [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b);
  const token = new Sampler(300).draw(logits, {
    sampling: { ...plain, temperature: 0.6, topP: 0.5 },
    random: seededRandom(2),
    topLogprobCount: 20,
  });
  assert.ok(token !== null);
  assert.ok(Math.abs(token.logprob - naive[token.id]) < 1e-12);
  assert.deepEqual(
    token.alternatives.map((alternative) => alternative.id),
    order.slice(0, 20),
  );
  for (const { id, logprob } of token.alternatives) assert.ok(Math.abs(logprob - naive[id]) < 1e-12);
});

test("zero alternatives still give the log-probability of the token", () => {
  const token = new Sampler(2).draw(Float32Array.of(0, 0), {
    sampling: plain,
    random: seededRandom(1),
    topLogprobCount: 0,
  });
  assert.ok(token !== null && Math.abs(token.logprob - Math.log(0.5)) < 1e-15);
  assert.deepEqual(token.alternatives, []);
});

test("refuses scores that are not numbers", () => {
  const sampler = new Sampler(3);
  const draw = (values: readonly number[], temperature: number) =>
    sampler.draw(Float32Array.from(values), {
      sampling: { ...plain, temperature },
      random: seededRandom(1),
      topLogprobCount: null,
    });
  assert.equal(draw([NaN, NaN, NaN], 0), null);
  assert.equal(draw([1, NaN, 2], 0.7), null);
  assert.equal(draw([-Infinity, -Infinity, -Infinity], 1), null);
});

test("only the steps that a request asks for are run, in this order", () => {
  const needed = (more: Partial<SamplingParameters>) =>
    logitsSteps.filter(({ isNeeded }) => isNeeded({ ...plain, ...more })).map(({ name }) => name);
  assert.deepEqual(needed({}), ["temperature", "draw"]);
  assert.deepEqual(needed({ topP: 0.5, topK: 3 }), ["temperature", "top-k", "top-p", "draw"]);
  assert.deepEqual(needed({ temperature: 0, topP: 0.5, topK: 3 }), ["greedy"]);
});

test("among allowed tokens draws what it would draw if the others had no chance at all", () => {
  const size = 1000;
  const logits = randomLogits(4, size);
  const sampler = new Sampler(size);
  const random = seededRandom("allowed");
  for (const part of [0, 0.01, 0.4, 0.7, 0.99, 1]) {
    const words = new Uint32Array(31);
    for (let id = 0; id < 32 * 31; id++) if (random.uniform() < part) words[id >>> 5] |= 1 << (id & 31);
    const endTokenIds = new Set([999, 17]);
    const isAllowed = (id: number): boolean =>
      endTokenIds.has(id) || ((words[id >>> 5] ?? 0) & (1 << (id & 31))) !== 0;
    const held = logits.map((logit, id) => (isAllowed(id) ? logit : -Infinity));
    for (const more of [{ temperature: 0 }, { topK: 5 }, { topP: 0.6 }, { temperature: 3 }, {}]) {
      for (const topLogprobCount of [null, 2]) {
        const seed = random.index(1000);
        const options = () => ({
          sampling: { ...plain, ...more },
          random: seededRandom(seed),
          topLogprobCount,
        });
        const token = sampler.draw(logits, options(), { words, endTokenIds });
        assert.equal(token?.id, new Sampler(size).draw(held, options())?.id);
        const free = sampler.draw(logits, options());
        assert.deepEqual(token?.alternatives, free?.alternatives);
        if (token?.id === free?.id) assert.deepEqual(token, free);
      }
    }
  }
});

// Tests top-n-sigma against the expectations of llama.cpp's own tests, and against the formula.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { plainSampling } from "../../../base/domain/sampling.ts";
import { LogitsRow, RowBuffers } from "./logits-row.ts";
import { keepTopNSigma } from "./top-n-sigma.ts";

/** Returns the ids of the tokens that top-n-sigma keeps. */
function kept(logits: readonly number[], topNSigma: number, temperature = 1): readonly number[] {
  const options = { sampling: { ...plainSampling, topNSigma, seed: 1 }, random: seededRandom("unused") };
  const left = { logits: Float32Array.from(logits), ids: null };
  const row = new LogitsRow(left, new RowBuffers(logits.length), options);
  row.temperature = temperature;
  keepTopNSigma(row);
  return Array.from(row.logits, (_, place) => row.idAt(place));
}

test("keeps the same as llama.cpp in its own examples", () => {
  // Examples of test_top_n_sigma in llama.cpp's tests/test-sampling.cpp: n, and the probabilities that remain.
  const logits = [0.1, 0.2, 0.3, 0.4].map(Math.log);
  const examples: readonly (readonly [n: number, probabilities: readonly number[]])[] = [
    [1, [0, 0, 0.428571, 0.571429]],
    [3, [0.1, 0.2, 0.3, 0.4]],
  ];
  for (const [n, expected] of examples) {
    const ids = kept(logits, n);
    const weights = logits.map((logit, id) => (ids.includes(id) ? Math.exp(logit) : 0));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    weights.forEach((weight, id) => assert.ok(Math.abs(weight / total - expected[id]) < 1e-5, `${n}: ${id}`));
  }
});

test("the deviation is that of the whole population without forbidden tokens, at any temperature", () => {
  // 0, 2, 4 and 6 have a mean of 3 and a population standard deviation of √5; the sample deviation would be √(20/3).
  const logits = [0, -Infinity, 2, 4, -Infinity, 6];
  for (const temperature of [0.01, 1, 50]) {
    assert.deepEqual(kept(logits, 0.85, temperature), [5]);
    assert.deepEqual(kept(logits, 0.9, temperature), [3, 5]);
    assert.deepEqual(kept(logits, 1.75, temperature), [3, 5]);
    assert.deepEqual(kept(logits, 1.8, temperature), [2, 3, 5]);
    assert.deepEqual(kept(logits, 2.7, temperature), [0, 2, 3, 5]);
  }
  assert.deepEqual(kept([5, 5, 5], 1e-9), [0, 1, 2]);
  assert.deepEqual(kept([-Infinity, 3], 0.5), [1]);
  assert.deepEqual(kept([3e38, -3e38, 0], 1), [0]);
});

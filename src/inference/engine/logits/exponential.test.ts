import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { exponentials } from "./logits-row.ts";

const check = (logits: readonly number[], temperature: number): void => {
  const scores = Float32Array.from(logits);
  const max = Math.max(...scores);
  const weights = new Float64Array(scores.length);
  const total = exponentials(weights, scores, { max, temperature });
  scores.forEach((score, id) => {
    const exact = Math.exp((score - max) / temperature);
    const tolerance = exact === 0 ? 0 : 1e-15 * (4 + (max - score) / temperature) * exact + 1e-320;
    assert.ok(Math.abs(weights[id] - exact) <= tolerance, `${score}: ${weights[id]} is not ${exact}`);
  });
  assert.equal(
    total,
    weights.reduce((sum, weight) => sum + weight, 0),
  );
};

test("agrees with Math.exp over the whole range", () => {
  const random = seededRandom("exponentials");
  for (const spread of [0.001, 1, 30, 900]) {
    check(
      Array.from({ length: 2000 }, () => spread * random.uniform()),
      1,
    );
    check(
      Array.from({ length: 2000 }, () => -spread * random.uniform()),
      0.37,
    );
  }
  check([0, -Infinity, -745, -3e38, 0], 1);
});

test("a NaN score makes the sum NaN", () => {
  const weights = new Float64Array(2);
  assert.ok(Number.isNaN(exponentials(weights, Float32Array.of(1, NaN), { max: 1, temperature: 1 })));
});

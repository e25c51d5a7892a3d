import assert from "node:assert/strict";
import { test } from "node:test";
import { createRandomWeights } from "../../../../src/inference/architectures/testing/random-weights.ts";
import { type Learner, createLearner } from "./learner.ts";
import { createParallelLearner, splitBatch } from "./parallel-learner.ts";
import type { Batch } from "./rows.ts";
import { countingBatch, countingConfig as config } from "./testing/counting-rows.ts";

type Gradients = Awaited<ReturnType<Learner["differentiate"]>>["gradients"];

/** Smallest normal and smallest positive float32. */
const smallestNormal = 2 ** -126;
const smallestNumber = 2 ** -149;

/** @param bound exclusive upper bound on each absolute difference */
function assertClose(found: Gradients, expected: Gradients, bound: number): void {
  for (const [name, slope] of expected) {
    for (const [index, value] of slope.entries()) {
      const difference = Math.abs((found.get(name)?.[index] ?? NaN) - value);
      assert.ok(difference < bound, `${name}[${index}]: ${value} differs by ${difference}`);
    }
  }
}

/** Returns a batch that contains all rows of this batch twice. */
function twice({ rowCount, length, tokens_BT, places_N, targets_N, weights_N }: Batch): Batch {
  const size = BigInt(tokens_BT.length);
  return {
    rowCount: 2 * rowCount,
    length,
    tokens_BT: BigInt64Array.of(...tokens_BT, ...tokens_BT),
    places_N: BigInt64Array.of(...places_N, ...places_N.map((place) => place + size)),
    targets_N: BigInt64Array.of(...targets_N, ...targets_N),
    weights_N: Float32Array.of(...weights_N, ...weights_N),
  };
}

// Must run first: this test checks that denormal numbers are not flushed to zero, which the process's first session
// determines.
test("all workers compute the same, even for denormal numbers", async (t) => {
  // Spreads the logits so far apart that the gradients of improbable tokens are below the smallest normal number.
  const weights = createRandomWeights(config, { seed: 1, deviation: 0.1 });
  weights.get("model.norm.weight")?.fill(300);
  const [half] = splitBatch(countingBatch(1), 5);
  const parallel = await createParallelLearner(config, { workers: 2 });
  const single = await createLearner(config, { threads: 1 });
  t.after(() => Promise.all([parallel.close(), single.close()]));
  const expected = await single.differentiate(weights, half);
  const found = await parallel.differentiate(weights, twice(half));
  // Halving a denormal number rounds it to a neighbour, so a small difference is allowed.
  assertClose(found.gradients, expected.gradients, 2 * smallestNumber);
  const isSmall = (value: number): boolean => value !== 0 && Math.abs(value) < smallestNormal;
  const slopes = [...expected.gradients.values()];
  // Kernels for processors without AVX-512 treat exponentials below the smallest normal number as zero.
  if (!slopes.some((slope) => slope.some(isSmall)))
    t.diagnostic("this processor's kernels make no number below the smallest normal one");
});

test("the workers' combined loss and gradient equal those of a single learner", async (t) => {
  const weights = createRandomWeights(config, { seed: 1, deviation: 0.1 });
  const parallel = await createParallelLearner(config, { workers: 2 });
  const single = await createLearner(config, { threads: 1 });
  t.after(() => Promise.all([parallel.close(), single.close()]));
  const expected = await single.differentiate(weights, countingBatch(1));
  const found = await parallel.differentiate(weights, countingBatch(1));
  assert.ok(Math.abs(found.loss - expected.loss) < 1e-5, `${found.loss} and ${expected.loss}`);
  assertClose(found.gradients, expected.gradients, 1e-5);
});

test("a batch is split between rows without losing a position", () => {
  const batch = countingBatch(2);
  const parts = splitBatch(batch, 2);
  assert.deepEqual(
    parts.map(({ rowCount }) => rowCount),
    [2, 3],
  );
  assert.deepEqual(
    parts.flatMap(({ targets_N }) => [...targets_N]),
    [...batch.targets_N],
  );
  for (const part of parts) {
    for (const [index, place] of part.places_N.entries()) {
      assert.equal(part.tokens_BT[Number(place) + 1], part.targets_N[index]);
    }
  }
});

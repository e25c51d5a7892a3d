// Minibatches: every sequence once, within the budget, the same each time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../domain/random.ts";
import { type TrainingSequence, cutIntoMinibatches } from "./minibatch.ts";

function sequenceOf(length: number): TrainingSequence {
  return {
    tokenIds: new Int32Array(length),
    mask: new Uint8Array(length),
    oldLogprobs: new Float32Array(length),
    advantage: 1,
    weight: 1,
  };
}

const random = seededRandom("minibatch test", 1);
const sequences = Array.from({ length: 64 }, () => sequenceOf(10 + random.index(90)));

function cut(tokenBudget: number, seed = "job"): (readonly TrainingSequence[])[] {
  return cutIntoMinibatches(sequences, { tokenBudget, seed });
}

test("every sequence is in one minibatch, and none exceeds the budget", () => {
  const minibatches = cut(512);
  assert.deepEqual(new Set(minibatches.flat()), new Set(sequences));
  assert.equal(minibatches.flat().length, sequences.length);
  for (const minibatch of minibatches) {
    const longest = Math.max(...minibatch.map(({ tokenIds }) => tokenIds.length));
    assert.ok(longest * minibatch.length <= 512);
  }
});

test("little of a minibatch is padding", () => {
  const padded = cut(512).map((minibatch) => {
    return minibatch.length * Math.max(...minibatch.map(({ tokenIds }) => tokenIds.length));
  });
  const tokens = sequences.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
  const waste = 1 - tokens / padded.reduce((sum, count) => sum + count, 0);
  assert.ok(waste < 0.1, `${waste} is padding`);
});

test("the seed alone decides", () => {
  assert.deepEqual(cut(512), cut(512));
  const order = (seed: string): number[] => cut(512, seed).map(([first]) => sequences.indexOf(first));
  assert.notDeepEqual(order("job"), order("another job"));
});

test("a sequence beyond the budget has a minibatch of its own", () => {
  assert.equal(cut(5).length, sequences.length);
  assert.deepEqual(cutIntoMinibatches([], { tokenBudget: 2048, seed: "job" }), []);
});

// Optimizer batches: every sequence once, within the budget, the same each time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../domain/random.ts";
import { cutByLength, cutIntoBatches } from "./optimizer-batches.ts";
import type { TrainingSequence } from "../trainer.ts";

function sequenceOf(length: number): TrainingSequence {
  return {
    tokenIds: new Int32Array(length),
    mask: new Uint8Array(length),
    oldLogprobs: new Float32Array(length),
    advantage: 1,
    weight: 1,
    group: 0,
  };
}

const random = seededRandom("minibatch test", 1);
const sequences = Array.from({ length: 64 }, () => sequenceOf(10 + random.index(90)));

function cut(batchTokens: number, seed = "job"): (readonly TrainingSequence[])[] {
  return cutIntoBatches(sequences, { batchTokens, seed });
}

function tokenCountOf(batch: readonly TrainingSequence[]): number {
  return batch.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
}

function paddedCountOf(batch: readonly TrainingSequence[]): number {
  return batch.length * Math.max(...batch.map(({ tokenIds }) => tokenIds.length));
}

test("every sequence is in one batch, and no batch has more tokens than it may", () => {
  const batches = cut(512);
  assert.deepEqual(new Set(batches.flat()), new Set(sequences));
  assert.equal(batches.flat().length, sequences.length);
  for (const batch of batches) assert.ok(tokenCountOf(batch) <= 512);
  const average = tokenCountOf(sequences) / batches.length;
  assert.ok(average > 400, `a batch holds only ${average} tokens`);
});

test("little of a batch is padding when it is computed as rows", () => {
  const padded = cut(512).reduce((sum, batch) => sum + paddedCountOf(batch), 0);
  const waste = 1 - tokenCountOf(sequences) / padded;
  assert.ok(waste < 0.1, `${waste} is padding`);
});

test("what is measured decides where a batch ends", () => {
  const rows = cutByLength(sequences, { tokensMax: 3, measure: ({ rowCount }) => rowCount });
  assert.deepEqual(new Set(rows.slice(0, -1).map((batch) => batch.length)), new Set([3]));
  const padded = cutByLength(sequences, {
    tokensMax: 300,
    measure: ({ rowCount, longest }) => rowCount * longest,
  });
  for (const batch of padded) assert.ok(paddedCountOf(batch) <= 300);
  assert.equal(padded.flat().length, sequences.length);
});

test("a batch may be full to the last token, the first one and those after it", () => {
  const halves = Array.from({ length: 4 }, () => sequenceOf(5));
  const countsOf = (batchTokens: number): readonly number[] =>
    cutIntoBatches(halves, { batchTokens, seed: "job" }).map((batch) => batch.length);
  assert.deepEqual(countsOf(10), [2, 2]);
  assert.deepEqual(countsOf(9), [1, 1, 1, 1]);
});

test("the seed alone decides", () => {
  assert.deepEqual(cut(512), cut(512));
  const order = (seed: string): number[] => cut(512, seed).map(([first]) => sequences.indexOf(first));
  assert.notDeepEqual(order("job"), order("another job"));
});

test("a sequence that alone has too many tokens has a batch of its own", () => {
  assert.equal(cut(5).length, sequences.length);
  assert.deepEqual(cutIntoBatches([], { batchTokens: 2048, seed: "job" }), []);
});

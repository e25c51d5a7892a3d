// Optimizer batches: every sequence once, within the budget, the same each time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../domain/random.ts";
import { cutByLength, cutIntoBatches } from "./optimizer-batches.ts";
import type { TrainingSequence } from "./trainer.ts";

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

const random = seededRandom("optimizer batches test", 1);
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

/** The part of all computed tokens that is padding. */
function wasteOf(batches: readonly (readonly TrainingSequence[])[]): number {
  const padded = batches.reduce((sum, batch) => sum + paddedCountOf(batch), 0);
  return 1 - tokenCountOf(batches.flat()) / padded;
}

test("far less of a batch is padding than if sequences shared one as they come", () => {
  const batches = cut(512);
  let start = 0;
  const asTheyCome = batches.map(({ length }) => sequences.slice(start, (start += length)));
  const waste = { sorted: wasteOf(batches), asTheyCome: wasteOf(asTheyCome) };
  assert.ok(waste.sorted < waste.asTheyCome / 2, JSON.stringify(waste));
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

test("the seed alone decides", () => {
  assert.deepEqual(cut(512), cut(512));
  const order = (seed: string): number[] => cut(512, seed).map(([first]) => sequences.indexOf(first));
  assert.notDeepEqual(order("job"), order("another job"));
});

test("a sequence that alone has too many tokens has a batch of its own", () => {
  assert.equal(cut(5).length, sequences.length);
  assert.deepEqual(cutIntoBatches([], { batchTokens: 2048, seed: "job" }), []);
});

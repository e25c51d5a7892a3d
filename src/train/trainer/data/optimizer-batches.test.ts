// Tests that optimizer batches contain each sequence once, stay within the token limit, keep groups together and are
// repeatable.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { computedTokenCount, groupByPrefix } from "../packing/prefix-groups.ts";
import type { PackedSequence } from "../packing/prefix-groups.ts";
import { type StepSize, cutIntoBatches } from "./optimizer-batches.ts";

const random = seededRandom("optimizer batch test", 1);

interface Sequence extends PackedSequence {
  readonly tokenCount: number;
  readonly group: number;
}

/**
 * Returns a sequence in which every token after the prompt is trained on. Without a prompt, every token except the
 * first is trained on.
 */
function sequenceOf({
  promptIds = [],
  length,
  group,
}: {
  readonly promptIds?: readonly number[];
  readonly length: number;
  readonly group: number;
}): Sequence {
  const more = Array.from({ length: length - promptIds.length }, () => random.index(1000));
  return {
    tokenIds: Int32Array.of(...promptIds, ...more),
    mask: Uint8Array.from({ length }, (_, index) => (index >= Math.max(1, promptIds.length) ? 1 : 0)),
    tokenCount: length,
    group,
  };
}

const ids = (count: number): readonly number[] => Array.from({ length: count }, () => random.index(1000));

const promptOfAll = ids(30);

/** Groups of 3 to 6 answers of about 30 tokens each, to prompts of about 60 tokens. */
const grouped = Array.from({ length: 16 }, (_, group) => {
  const promptIds = ids(40 + random.index(40));
  return Array.from({ length: 3 + random.index(4) }, () =>
    sequenceOf({ promptIds, length: promptIds.length + 10 + random.index(40), group }),
  );
}).flat();

/** Sequences that share no prefix; each is in a group of its own. */
const single = Array.from({ length: 64 }, (_, group) => sequenceOf({ length: 10 + random.index(90), group }));

function cut(
  sequences: readonly Sequence[],
  { batchTokens = 512, seed = "job" } = {},
): readonly (readonly Sequence[])[] {
  return cutIntoBatches(sequences, { ...once, size: { tokens: batchTokens }, seed });
}

/** Options for one pass over sequences that contain their own tokens. */
const once = { passCount: 1, tokensOf: (sequence: Sequence) => sequence };

function computedCountOf(batch: readonly Sequence[]): number {
  return groupByPrefix(batch).reduce((sum, group) => sum + computedTokenCount(group), 0);
}

test("puts each sequence into one batch, and no batch exceeds its token budget", () => {
  for (const sequences of [grouped, single]) {
    const batches = cut(sequences);
    assert.deepEqual(new Set(batches.flat()), new Set(sequences));
    assert.equal(batches.flat().length, sequences.length);
    for (const batch of batches) assert.ok(computedCountOf(batch) <= 512);
    const average = computedCountOf(sequences) / batches.length;
    assert.ok(average > 400, `a batch holds only ${average} tokens`);
  }
});

test("batches depend only on the seed", () => {
  assert.deepEqual(cut(grouped), cut(grouped));
  const order = (seed: string): number[] => cut(grouped, { seed }).map(([first]) => grouped.indexOf(first));
  assert.notDeepEqual(order("job"), order("another job"));
});

test("a sequence over the budget gets its own batch", () => {
  assert.equal(cut(single, { batchTokens: 5 }).length, single.length);
  assert.deepEqual(cut([]), []);
});

test("a batch may be full to the last computed token", () => {
  const promptIds = ids(20);
  // Besides the prompt, each answer has five tokens of its own. The trainer computes four of them, because the last
  // token predicts nothing.
  const answers = Array.from({ length: 4 }, () => sequenceOf({ promptIds, length: 25, group: 0 }));
  const countsOf = (batchTokens: number): readonly number[] =>
    cut(answers, { batchTokens }).map((batch) => batch.length);
  assert.deepEqual(countsOf(36), [4]);
  assert.deepEqual(new Set(countsOf(35)), new Set([1, 3]));
});

test("a group that fits into a batch is in one", () => {
  const batches = cut(grouped);
  for (let group = 0; group < 16; group++) {
    const having = batches.filter((batch) => batch.some((sequence) => sequence.group === group));
    assert.equal(having.length, 1, `group ${group}`);
  }
  const whole = grouped.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
  assert.ok(batches.length < whole / 512, "less than each computed whole");
});

test("the rows of a divided group are not sorted by their tokens", () => {
  const answers = Array.from({ length: 16 }, (_, answer) =>
    sequenceOf({ promptIds: [...promptOfAll, answer], length: 60, group: 0 }),
  );
  const batches = cut(answers, { batchTokens: 200 });
  const numbers = batches.map((batch) => batch.map((sequence) => answers.indexOf(sequence)));
  assert.ok(batches.length > 2);
  assert.ok(numbers.some((of) => Math.max(...of) - Math.min(...of) >= of.length));
});

const sizesOf = (batches: readonly (readonly Sequence[])[]): readonly number[] =>
  batches.map(({ length }) => length);
const ascending = (one: number, other: number): number => one - other;

test("a step has a given number of sequences, or a pass is divided evenly into a given number of steps", () => {
  const options = { ...once, seed: "job" };
  const ten = single.slice(0, 10);
  const sizes = (size: StepSize): readonly number[] => {
    const batches = cutIntoBatches(ten, { ...options, size });
    assert.deepEqual(new Set(batches.flat()), new Set(ten));
    assert.equal(batches.flat().length, 10);
    return sizesOf(batches).toSorted(ascending);
  };
  assert.deepEqual(sizes({ sequences: 1 }), [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
  assert.deepEqual(sizes({ sequences: 4 }), [2, 4, 4]);
  assert.deepEqual(sizes({ sequences: 99 }), [10]);
  assert.deepEqual(sizes({ steps: 1 }), [10]);
  assert.deepEqual(sizes({ steps: 4 }), [2, 2, 3, 3]);
  assert.deepEqual(sizes({ steps: 99 }).length, 10);
  assert.deepEqual(cutIntoBatches([], { ...options, size: { steps: 3 } }), []);
});

test("each pass has each sequence once, in its own order", () => {
  const size = { sequences: 1 };
  const options = { ...once, size, passCount: 3, seed: "job" };
  const passes = cutIntoBatches(single, options).flat();
  const each = [0, 1, 2].map((pass) => passes.slice(pass * single.length, (pass + 1) * single.length));
  for (const pass of each) assert.deepEqual(new Set(pass), new Set(single));
  assert.notDeepEqual(each[0], each[1]);
  assert.notDeepEqual(each[1], each[2]);
  assert.deepEqual(passes, cutIntoBatches(single, options).flat());
});

test("steps of several sequences keep the sequences of a group together", () => {
  const four = Array.from({ length: 16 }, (_, index) => sequenceOf({ length: 9, group: index >> 2 }));
  const size = { sequences: 4 };
  for (const batch of cutIntoBatches(four, { ...once, size, seed: "job" }))
    assert.equal(new Set(batch.map(({ group }) => group)).size, 1);
});

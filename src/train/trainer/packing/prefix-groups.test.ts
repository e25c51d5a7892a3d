// Tests that prefix groups contain each sequence once and compute shared tokens once. No other grouping with one prefix
// per group may save more.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import {
  type PackedSequence,
  computedTokenCount,
  groupByPrefix,
  prefixOf,
  ungrouped,
} from "./prefix-groups.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";

/** Returns a sequence whose last token is the only one that is trained on, so that all tokens before it are inputs. */
function sequenceOf(...inputIds: readonly number[]): PackedSequence {
  const tokenIds = Int32Array.of(...inputIds, 99);
  const mask = new Uint8Array(tokenIds.length);
  mask[inputIds.length] = 1;
  return { tokenIds, mask };
}

const range = (start: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => start + index);

/** Describes the rows of each group as text: prefix, own tokens, and number of sequences. */
function shapeOf(sequences: readonly PackedSequence[]): readonly (readonly string[])[] {
  return groupByPrefix(sequences).map((group) =>
    group.map(
      ({ inputIds, prefixLength, sequences: served }) =>
        `${[...inputIds.subarray(0, prefixLength)].join(" ")}|${[...inputIds.subarray(prefixLength)].join(" ")} x${served.length}`,
    ),
  );
}

function computedCountOf(sequences: readonly PackedSequence[], options = {}): number {
  return groupByPrefix(sequences, options).reduce((count, group) => count + computedTokenCount(group), 0);
}

test("sequences with one prompt share it", () => {
  const answers = [sequenceOf(1, 2, 3, 4, 5, 6), sequenceOf(1, 2, 3, 4, 7), sequenceOf(1, 2, 3, 4, 8, 9)];
  assert.deepEqual(shapeOf(answers), [["1 2 3 4|5 6 x1", "1 2 3 4|7 x1", "1 2 3 4|8 9 x1"]]);
  assert.equal(computedCountOf(answers), 9);
});

test("a sequence contained in another needs no row", () => {
  assert.deepEqual(shapeOf([sequenceOf(1, 2), sequenceOf(1, 2, 3), sequenceOf(1, 2), sequenceOf(1, 2, 3)]), [
    ["|1 2 3 x4"],
  ]);
  assert.deepEqual(shapeOf([sequenceOf(1), sequenceOf(1, 2, 3), sequenceOf(1, 2, 4)]), [
    ["1 2|3 x2", "1 2|4 x1"],
  ]);
});

test("tokens that predict no trained token are not computed", () => {
  const sequence = { tokenIds: Int32Array.of(1, 2, 3, 4, 5), mask: Uint8Array.of(0, 0, 1, 0, 0) };
  assert.deepEqual(shapeOf([sequence]), [["|1 2 x1"]]);
});

test("each turn of a trajectory leaves the shared prefix at its own place", () => {
  // The prompt of the next turn does not contain the reasoning of the previous turn.
  const turns = [1, 2, 3].map((turn) => sequenceOf(...range(10, 4 * turn), 50 + turn, 60 + turn));
  assert.deepEqual(shapeOf(turns), [
    [
      "10 11 12 13|51 61 x1",
      "10 11 12 13 14 15 16 17|18 19 20 21 53 63 x1",
      "10 11 12 13 14 15 16 17|52 62 x1",
    ],
  ]);
  assert.equal(computedCountOf(turns), 12 + 3 * 2);
});

test("sequences that share more with each other leave a group that shares less", () => {
  const histories = [10, 20].flatMap((start) =>
    [1, 2].map((last) => sequenceOf(7, ...range(start, 9), start * 10 + last)),
  );
  assert.deepEqual(
    groupByPrefix(histories).map((group) => group.map(({ prefixLength }) => prefixLength)),
    [
      [10, 10],
      [10, 10],
    ],
  );
});

test("one or two common tokens are not worth a prefix", () => {
  const sequences = [10, 50, 90].map((start) => sequenceOf(7, ...range(start, 30)));
  assert.deepEqual(
    groupByPrefix(sequences).map((group) => group.map(({ prefixLength }) => prefixLength)),
    [[0], [0], [0]],
  );
});

function randomSequences(seed: number, count: number): readonly PackedSequence[] {
  const random = seededRandom("prefix groups", seed);
  return Array.from({ length: count }, () =>
    sequenceOf(...Array.from({ length: 1 + random.index(9) }, () => random.index(2))),
  );
}

test("each sequence is a prefix of its row, and a group's prefixes are prefixes of the longest", () => {
  for (const seed of searchSeeds(20)) {
    const sequences = randomSequences(seed, 1 + (seed % 12));
    const groups = groupByPrefix(sequences);
    const served = groups.flat().flatMap((row) => row.sequences);
    assert.deepEqual(
      [served.length, new Set(served)],
      [sequences.length, new Set(sequences)],
      `seed ${seed}`,
    );
    for (const group of groups) {
      const prefix = prefixOf(group);
      assert.equal(prefix.length > 0, group.length > 1);
      for (const { inputIds, prefixLength, sequences: inRow } of group) {
        assert.deepEqual(inputIds.subarray(0, prefixLength), prefix.subarray(0, prefixLength));
        assert.ok(inputIds.length > prefixLength, `seed ${seed}`);
        for (const { tokenIds } of inRow)
          assert.deepEqual(tokenIds.subarray(0, -1), inputIds.subarray(0, tokenIds.length - 1));
      }
    }
  }
});

test("no other grouping by paths computes fewer tokens", () => {
  for (const seed of searchSeeds(30)) {
    const sequences = randomSequences(seed, 7);
    const rows = groupByPrefix(sequences).flat();
    const distinct = rows.map(({ inputIds }) => [...inputIds]);
    assert.equal(computedCountOf(sequences, { savedShareMin: 0 }), fewestTokens(distinct), `seed ${seed}`);
  }
});

/**
 * Finds the minimum by trying all divisions into groups and, in each group, every row as the prefix path. A group
 * computes all tokens of the path row; of each other row, it computes only the tokens after the row leaves the path.
 */
function fewestTokens(rows: readonly (readonly number[])[]): number {
  if (rows.length === 0) return 0;
  const [first, ...others] = rows;
  let fewest = Infinity;
  for (let chosen = 0; chosen < 2 ** others.length; chosen++) {
    const together = [first, ...others.filter((_, index) => (chosen >> index) % 2 === 1)];
    const apart = others.filter((_, index) => (chosen >> index) % 2 === 0);
    const counts = together.map((path) =>
      together.reduce((sum, row) => sum + row.length - (row === path ? 0 : commonLength(row, path)), 0),
    );
    fewest = Math.min(fewest, Math.min(...counts) + fewestTokens(apart));
  }
  return fewest;
}

function commonLength(left: readonly number[], right: readonly number[]): number {
  const differing = left.findIndex((id, index) => id !== right[index]);
  return differing === -1 ? left.length : differing;
}

test("ungrouped sequences get a row each", () => {
  const rows = ungrouped([sequenceOf(1, 2), sequenceOf(1, 2)]).map((group) =>
    group.map(({ inputIds, prefixLength }) => [prefixLength, ...inputIds]),
  );
  assert.deepEqual(rows, [[[0, 1, 2]], [[0, 1, 2]]]);
});

test("groups a thousand turns of one trajectory quickly", () => {
  const turns = range(1, 1000).map((turn) => sequenceOf(...range(100, turn), 1_000_000 + turn));
  assert.equal(computedCountOf(turns), 1000 + 1000);
});

// Prefix groups: every sequence once, nothing computed that is shared, and no other grouping by one prefix saves more.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../domain/random.ts";
import { type PackedSequence, computedTokenCount, groupByPrefix, ungrouped } from "./prefix-groups.ts";

/** A sequence of which the last token trains: all others are its inputs. */
function sequenceOf(...inputIds: readonly number[]): PackedSequence {
  const tokenIds = Int32Array.of(...inputIds, 99);
  const mask = new Uint8Array(tokenIds.length);
  mask[inputIds.length] = 1;
  return { tokenIds, mask };
}

const range = (start: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => start + index);

/** Each group as the length of its prefix and the inputs of its rows. */
function shapeOf(sequences: readonly PackedSequence[]): readonly (readonly [number, readonly string[]])[] {
  return groupByPrefix(sequences).map(({ prefixLength, rows }) => [
    prefixLength,
    rows.map(({ inputIds, sequences: served }) => `${[...inputIds].join(" ")} x${served.length}`),
  ]);
}

test("sequences of one prompt share it", () => {
  const prompt = [1, 2, 3, 4];
  const groups = groupByPrefix([
    sequenceOf(...prompt, 5, 6),
    sequenceOf(...prompt, 7),
    sequenceOf(...prompt, 8, 9),
  ]);
  assert.deepEqual(
    groups.map(({ prefixLength, rows }) => [prefixLength, rows.length, computedTokenCount(groups[0])]),
    [[4, 3, 9]],
  );
});

test("a sequence that another one contains needs no row of its own", () => {
  assert.deepEqual(shapeOf([sequenceOf(1, 2), sequenceOf(1, 2, 3), sequenceOf(1, 2), sequenceOf(1, 2, 3)]), [
    [0, ["1 2 3 x4"]],
  ]);
  assert.deepEqual(shapeOf([sequenceOf(1), sequenceOf(1, 2, 3), sequenceOf(1, 2, 4)]), [
    [2, ["1 2 3 x2", "1 2 4 x1"]],
  ]);
});

test("what predicts nothing that trains is not computed", () => {
  const sequence = { tokenIds: Int32Array.of(1, 2, 3, 4, 5), mask: Uint8Array.of(0, 0, 1, 0, 0) };
  assert.deepEqual(shapeOf([sequence]), [[0, ["1 2 x1"]]]);
});

test("sequences that share more among themselves leave a group that shares less", () => {
  const histories = [10, 20].flatMap((start) =>
    [1, 2].map((last) => sequenceOf(7, ...range(start, 9), start * 10 + last)),
  );
  assert.deepEqual(
    groupByPrefix(histories).map(({ prefixLength, rows }) => [prefixLength, rows.length]),
    [
      [10, 2],
      [10, 2],
    ],
  );
});

test("a token or two in common are not worth a prefix", () => {
  const sequences = [10, 50, 90].map((start) => sequenceOf(7, ...range(start, 30)));
  assert.deepEqual(
    groupByPrefix(sequences).map(({ prefixLength, rows }) => [prefixLength, rows.length]),
    [
      [0, 1],
      [0, 1],
      [0, 1],
    ],
  );
});

test("every sequence is in one row that begins as it does, and prefixes are common to their rows", () => {
  for (const seed of range(1, 40)) {
    const random = seededRandom("prefix groups", seed);
    const sequences = Array.from({ length: 1 + random.index(12) }, () =>
      sequenceOf(...Array.from({ length: 1 + random.index(9) }, () => random.index(2))),
    );
    const groups = groupByPrefix(sequences);
    const served = groups.flatMap(({ rows }) => rows.flatMap((row) => row.sequences));
    assert.deepEqual(
      [served.length, new Set(served)],
      [sequences.length, new Set(sequences)],
      `seed ${seed}`,
    );
    for (const { prefixLength, rows } of groups) {
      const prefix = rows[0].inputIds.subarray(0, prefixLength);
      assert.equal(prefixLength > 0, rows.length > 1);
      for (const { inputIds, sequences: inRow } of rows) {
        assert.deepEqual(inputIds.subarray(0, prefixLength), prefix);
        assert.ok(inputIds.length > prefixLength, `seed ${seed}`);
        for (const { tokenIds } of inRow)
          assert.deepEqual(tokenIds.subarray(0, -1), inputIds.subarray(0, tokenIds.length - 1));
      }
    }
  }
});

test("no other grouping by one prefix computes fewer tokens", () => {
  for (const seed of range(1, 30)) {
    const random = seededRandom("best groups", seed);
    const rows = groupByPrefix(
      Array.from({ length: 6 }, () => sequenceOf(...Array.from({ length: 6 }, () => random.index(2)))),
    );
    const distinct = rows.flatMap((group) => group.rows.map(({ sequences: [first] }) => first));
    const found = rows.reduce((count, group) => count + computedTokenCount(group), 0);
    assert.equal(found, fewestTokens(distinct), `seed ${seed}`);
  }
});

/** Over all partitions. */
function fewestTokens(sequences: readonly PackedSequence[]): number {
  if (sequences.length === 0) return 0;
  const [first, ...others] = sequences;
  let fewest = Infinity;
  for (let chosen = 0; chosen < 2 ** others.length; chosen++) {
    const together = [first, ...others.filter((_, index) => (chosen >> index) % 2 === 1)];
    const apart = others.filter((_, index) => (chosen >> index) % 2 === 0);
    const lengths = together.map(({ tokenIds }) => tokenIds.length - 1);
    let prefix = together.length === 1 ? 0 : Math.min(...lengths);
    while (together.some(({ tokenIds }) => !isBeginning(first.tokenIds, tokenIds, prefix))) prefix -= 1;
    const saved = (together.length - 1) * prefix;
    const count = lengths.reduce((sum, length) => sum + length, 0);
    if (saved > 0 && saved < 0.1 * count) continue;
    fewest = Math.min(fewest, count - saved + fewestTokens(apart));
  }
  return fewest;
}

function isBeginning(left: Int32Array, right: Int32Array, length: number): boolean {
  return left.subarray(0, length).every((id, index) => id === right[index]);
}

test("ungrouped sequences have a row each", () => {
  const groups = ungrouped([sequenceOf(1, 2), sequenceOf(1, 2)]);
  assert.deepEqual(
    groups.map(({ prefixLength, rows }) => [prefixLength, rows.map(({ inputIds }) => [...inputIds])]),
    [
      [0, [[1, 2]]],
      [0, [[1, 2]]],
    ],
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { chunkRows } from "./chunks.ts";

/** Checks how rows of the given lengths are divided into chunks of at most three rows. */
function check(lengths: readonly number[], expected: readonly (readonly number[])[]): void {
  assert.deepEqual([...chunkRows(lengths, { rowsMax: 3, lengthOf: (length) => length })], expected);
}

test("closes a chunk at the maximum row count, or at the row that makes it long", () => {
  const mebi = 1 << 20;
  check([], []);
  check([1, 1], [[1, 1]]);
  check([1, 2, 3, 4], [[1, 2, 3], [4]]);
  check([mebi - 1, 1, 5], [[mebi - 1, 1], [5]]);
  check([mebi - 1, 0, 1, 5], [[mebi - 1, 0, 1], [5]]);
  check([2 * mebi, mebi, 1], [[2 * mebi], [mebi], [1]]);
});

test("takes rows only as chunks are asked for", () => {
  let taken = 0;
  const rows = (function* () {
    for (;;) yield ++taken;
  })();
  const iterator = chunkRows(rows, { rowsMax: 3, lengthOf: () => 1 });
  assert.deepEqual(iterator.next().value, [1, 2, 3]);
  assert.equal(taken, 3);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { linesIn, LinePacker } from "./packed-lines.ts";

/** Packs lines of these lengths. Checks the number of lines in each buffer. */
function check(lengths: readonly number[], expected: readonly number[]): void {
  const lines = lengths.map((length, index) => String(index % 10).repeat(length));
  const packer = new LinePacker();
  for (const line of lines) packer.add(line);
  const packs = packer.packed();
  assert.deepEqual(
    packs.map((pack) => [...linesIn([pack])].length),
    expected,
  );
  for (let reading = 0; reading < 2; reading++) assert.deepEqual([...linesIn(packs)], lines);
}

test("closes a buffer when its lines reach a quarter of a million characters", () => {
  const closing = 1 << 18;
  check([], []);
  check([1, 1, 1], [3]);
  check([closing - 1, 1, 5], [2, 1]);
  check([closing, 5], [1, 1]);
  check([5, 3 * closing, 5], [2, 1]);
});

test("returns every character unchanged", () => {
  const packer = new LinePacker();
  packer.add('"é👍"');
  packer.add("");
  assert.deepEqual([...linesIn(packer.packed())], ['"é👍"', ""]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { foldedLine, unfolded, unfoldedLines } from "./folded-lines.ts";

async function* asynchronous(parts: Iterable<string>): AsyncGenerator<string> {
  yield* parts;
}

async function check(lines: readonly string[], partCounts: readonly number[]): Promise<void> {
  const folded = lines.map((line) => [...foldedLine(line)]);
  assert.deepEqual(
    folded.map((parts) => parts.length),
    partCounts,
  );
  const parts = folded.flat();
  for (const part of parts) {
    assert.ok(part.length <= (1 << 20) + 1);
    assert.doesNotMatch(part, /\p{Surrogate}/u);
  }
  assert.equal(parts.map(unfolded).join(""), lines.map((line) => `${line}\n`).join(""));
  const whole: string[] = [];
  for await (const texts of unfoldedLines(asynchronous(parts), (text) => text)) whole.push(texts.join(""));
  assert.deepEqual(
    whole,
    lines.map((line) => `${line}\n`),
  );
}

const ofLength = (length: number): string => JSON.stringify("x".repeat(length - 2));

test("leaves a short line whole", () => check(["{}", ofLength(1 << 20)], [1, 1]));

test("cuts a long line and restores it among others", () =>
  check(["[1]", ofLength((1 << 20) + 1), ofLength(3 << 20), "[2]"], [1, 2, 3, 1]));

test("loses nothing at a cut in a row of backslashes or next to a surrogate pair", async () => {
  for (const filler of ["\\".repeat(4), "😀"]) {
    for (let shift = 0; shift < 4; shift++)
      await check([JSON.stringify("x".repeat(shift) + filler.repeat(1 << 18))], [filler === "😀" ? 1 : 3]);
  }
  for (const shift of [0, 1]) await check([JSON.stringify("x".repeat(shift) + "😀".repeat(1 << 19))], [2]);
});

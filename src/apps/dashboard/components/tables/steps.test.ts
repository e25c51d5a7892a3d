import assert from "node:assert/strict";
import { test } from "node:test";
import { inParts, inSteps, steps } from "./steps.ts";

test("returns the results in the order of the rows, whichever is done first", async () => {
  const progress: number[] = [];
  const waiting = new Map<number, () => void>();
  const found = inSteps([0, 1, 2, 3, 4, 5], async (row) => {
    progress.push(steps.value?.done ?? -1);
    if (row < 4) await new Promise<void>((resolve) => waiting.set(row, resolve));
    return row * 10;
  });
  assert.deepEqual([...waiting.keys()], [0, 1, 2, 3]);
  for (const row of [3, 1, 0, 2]) waiting.get(row)?.();
  assert.deepEqual(await found, [0, 10, 20, 30, 40, 50]);
  assert.deepEqual([progress.slice(0, 4), steps.value], [[0, 0, 0, 0], null]);
});

test("a user can stop, and the rest is left out", async () => {
  const done: number[] = [];
  const stopped = inSteps(
    Array.from({ length: 20 }, (_, index) => index),
    async (row) => {
      await Promise.resolve();
      done.push(row);
      if (row === 5) steps.value?.stop();
    },
  );
  await assert.rejects(stopped, /^Error: Stopped after \d+ of 20\.$/);
  assert.ok(done.includes(5) && done.length < 12, done.join());
  assert.equal(steps.value, null);
});

test("the first error ends the action", async () => {
  const act = async (row: number) => {
    await Promise.resolve();
    if (row === 2) throw new Error("refused");
  };
  await assert.rejects(inSteps([1, 2, 3], act), /refused/);
  assert.equal(steps.value, null);
});

test("splits rows into parts", () => {
  assert.deepEqual(inParts([1, 2, 3, 4, 5], 2), [[1, 2], [3, 4], [5]]);
  assert.deepEqual(inParts([], 2), []);
});

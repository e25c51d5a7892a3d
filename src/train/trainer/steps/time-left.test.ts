// Compares the estimate of the remaining time with known times.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TimeLeft } from "./take-steps.ts";

test("estimates steps by their tokens, and ignores the first, which loads its program", () => {
  const timeLeft = new TimeLeft([100, 50, 100, 200]);
  assert.equal(timeLeft.after(0, 10_000), undefined);
  assert.equal(timeLeft.after(1, 50), 0.3);
  assert.equal(timeLeft.after(2, 100), 0.2);
  assert.equal(timeLeft.after(3, 200), 0);
});

test("uses the speed of the last steps, also in an attempt that started at a later one", () => {
  const timeLeft = new TimeLeft(Array.from({ length: 1000 }, () => 1));
  for (let index = 500; index < 600; index++) timeLeft.after(index, 1);
  for (let index = 600; index < 620; index++) timeLeft.after(index, 1000);
  assert.equal(timeLeft.after(620, 1000), 379);
});

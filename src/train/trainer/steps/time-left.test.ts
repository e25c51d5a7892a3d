// The estimate of what is left, against times that are known.
import assert from "node:assert/strict";
import { test } from "node:test";
import { TimeLeft } from "./take-steps.ts";

test("steps take as long as their tokens say, and the first, which loads its program, says nothing", () => {
  const timeLeft = new TimeLeft([100, 50, 100, 200]);
  assert.equal(timeLeft.after(0, 10_000), undefined);
  assert.equal(timeLeft.after(1, 50), 0.3);
  assert.equal(timeLeft.after(2, 100), 0.2);
  assert.equal(timeLeft.after(3, 200), 0);
});

test("the speed is that of the last steps, also where an attempt went on from a later one", () => {
  const timeLeft = new TimeLeft(Array.from({ length: 1000 }, () => 1));
  for (let index = 500; index < 600; index++) timeLeft.after(index, 1);
  for (let index = 600; index < 620; index++) timeLeft.after(index, 1000);
  assert.equal(timeLeft.after(620, 1000), 379);
});

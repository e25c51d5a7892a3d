import assert from "node:assert/strict";
import { test } from "node:test";
import { smoothed } from "./smooth.ts";

test("keeps the values at weight 0, and a constant line at every weight", () => {
  assert.deepEqual(smoothed([1, 5, 2], 0), [1, 5, 2]);
  for (const weight of [0.5, 0.99])
    for (const value of smoothed([3, 3, 3, 3], weight)) assert.ok(Math.abs(value - 3) < 1e-9);
});

test("weights values by their age, normalized to a sum of 1", () => {
  const [first, second, third] = smoothed([0, 1, 0], 0.5);
  assert.deepEqual([first, second], [0, 0.5 / 0.75]);
  assert.ok(Math.abs((third ?? 0) - 0.25 / 0.875) < 1e-12);
});

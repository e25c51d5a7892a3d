import assert from "node:assert/strict";
import { test } from "node:test";
import { isSampled } from "./sample.ts";

const numbers = Array.from({ length: 100_000 }, (_, index) => index + 1);

test("a sample takes its share of all numbers and of every arithmetic sequence of them", () => {
  for (const share of [0.5, 0.1, 0.01])
    for (const period of [1, 2, 3, 7, 10, 64])
      for (const offset of new Set([0, period - 1])) {
        const row = numbers.filter((number) => number % period === offset);
        const found = row.filter((number) => isSampled(number, share)).length / row.length;
        const text = `${found} of every ${period}th at ${share}`;
        assert.ok(Math.abs(found - share) < 0.1 * share + 8 / row.length, text);
      }
});

test("a smaller sample is a subset of a larger one, and a share of 1 takes all", () => {
  assert.ok(numbers.every((number) => isSampled(number, 1)));
  assert.ok(numbers.every((number) => !isSampled(number, 0.1) || isSampled(number, 0.4)));
});

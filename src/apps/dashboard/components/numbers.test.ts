import assert from "node:assert/strict";
import { test } from "node:test";
import { byteText, durationText, shortNumber } from "./numbers.ts";

test("shortens numbers, and shows a dash for a missing one", () => {
  assert.deepEqual([0, 0.25, 1234.56, 0.000012345, 12345678, -0.5, 0.00154, -0, NaN].map(shortNumber), [
    "0",
    "0.25",
    "1,235",
    "1.23e-5",
    "1.23e+7",
    "-0.5",
    "0.00154",
    "0",
    "–",
  ]);
});

test("formats bytes and durations in suitable units", () => {
  assert.deepEqual([0, 999, 1500, 2.5e9].map(byteText), ["0 B", "999 B", "1.5 KB", "2.5 GB"]);
  assert.deepEqual([5.4, 89.6, 600, 7200].map(durationText), ["5 s", "90 s", "10 min", "2 h"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { byteText, counted, durationText, shortNumber, shownDifference } from "./numbers.ts";

test("shortens numbers, and shows a dash for a missing one", () => {
  assert.deepEqual([0, 0.25, 1234.56, 0.000012345, 12345678, -0.5, 0.00154, -0, NaN].map(shortNumber), [
    "0",
    "0.25",
    "1,235",
    "1.23e−5",
    "1.23e+7",
    "−0.5",
    "0.00154",
    "0",
    "–",
  ]);
});

test("formats bytes and durations in suitable units", () => {
  assert.deepEqual([0, 999, 1500, 2.5e9].map(byteText), ["0 B", "999 B", "1.5 KB", "2.5 GB"]);
  assert.deepEqual([5.4, 89.6, 600, 7200].map(durationText), ["5 s", "90 s", "10 min", "2 h"]);
});

test("counts nouns in the singular and the plural", () => {
  assert.deepEqual(
    [0, 1, 2000].map((count) => counted(count, "record")),
    ["0 records", "1 record", "2,000 records"],
  );
  assert.equal(counted(1, "person", "people"), "1 person");
  assert.equal(counted(2, "person", "people"), "2 people");
});

test("a difference equals that of the rounded numbers that the reader sees", () => {
  assert.equal(shownDifference(0.1234, 0.5679), 0.445);
  assert.equal(shownDifference(1234.4, 1236.6), 3);
  assert.equal(shortNumber(shownDifference(0.5001, 0.5002)), "1.00e−4");
  assert.ok(Number.isNaN(shownDifference(0.5, NaN)));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { statisticsLines } from "./statistics-screen.ts";

const numbers = { count: 30, mean: 0.5, standard_deviation: 0.1, min: 0, max: 1 };
const path = { path: "payload.score", count: 30, kinds: { number: 30 }, values: null };
const type = { feedback_type: "rating", count: 120, sample_count: 30, other_values: 0 };

test("says if the charts cover only a sample, and draws many distinct numbers as a histogram", () => {
  const spread = { p50: 0.5, p95: 0.9, histogram: [10, 0, 20] };
  const lines = statisticsLines(
    {
      total_count: 130,
      sample: { share: 0.25, count: 32, rule: "One of four." },
      types: [{ ...type, paths: [{ ...path, numbers: { ...numbers, ...spread } }] }],
      other_types: 10,
    },
    40,
  );
  assert.deepEqual(lines, [
    "130 records",
    "rating       120  ██████████████████████",
    "other types   10  █▊",
    "",
    "The charts cover 32 of them. One of four.",
    "",
    "rating",
    "  payload.score  30 number",
    "    mean 0.5  p50 0.5  p95 0.9",
    "    0 ▕▄ █▏ 1",
  ]);
});

test("shows only the mean if percentiles are unknown", () => {
  const spread = { p50: null, p95: null, histogram: null };
  const sample = { share: 1, count: 120, rule: "Every record was read." };
  const types = [{ ...type, paths: [{ ...path, numbers: { ...numbers, ...spread } }] }];
  const lines = statisticsLines({ total_count: 120, sample, types, other_types: 0 }, 40);
  assert.deepEqual(lines.slice(2), ["", "rating", "  payload.score  30 number", "    mean 0.5"]);
});

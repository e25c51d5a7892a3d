import assert from "node:assert/strict";
import { test } from "node:test";
import { axisEnd, daysOf } from "./usage-days.ts";

const row = (day: string, requests: number, tokens: number, cost: number | null = null) => ({
  day,
  requests,
  prompt_tokens: tokens,
  completion_tokens: 1,
  training_tokens: 0,
  cost,
  currency: cost === null ? null : "EUR",
});

test("sums usage by day, with a day of zeros where there was none", () => {
  const rows = [row("2026-03-01", 2, 10, 0.5), row("2026-03-01", 1, 5, 0.25), row("2026-02-01", 9, 9)];
  assert.deepEqual(daysOf(rows, new Date("2026-03-02T12:00:00Z"), 3), [
    { day: "2026-02-28", tokens: 0, requests: 0, cost: null, currency: null },
    { day: "2026-03-01", tokens: 17, requests: 3, cost: 0.75, currency: "EUR" },
    { day: "2026-03-02", tokens: 0, requests: 0, cost: null, currency: null },
  ]);
});

test("ends the axis at a round number that no day exceeds", () => {
  assert.deepEqual(
    [0, 7, 10, 11, 2778, 5000, 29_984, 50_001].map(axisEnd),
    [10, 10, 10, 20, 5000, 5000, 50_000, 100_000],
  );
});

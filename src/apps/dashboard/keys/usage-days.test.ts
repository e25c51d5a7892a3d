import assert from "node:assert/strict";
import { test } from "node:test";
import { daysOf } from "./usage-days.ts";

const row = (day: string, requests: number, tokens: number) => ({
  day,
  requests,
  prompt_tokens: tokens,
  completion_tokens: 1,
  training_tokens: 0,
});

test("sums usage by day, with a day of zeros where there was none", () => {
  const rows = [row("2026-03-01", 2, 10), row("2026-03-01", 1, 5), row("2026-02-01", 9, 9)];
  assert.deepEqual(daysOf(rows, new Date("2026-03-02T12:00:00Z"), 3), [
    { day: "2026-02-28", tokens: 0, requests: 0 },
    { day: "2026-03-01", tokens: 17, requests: 3 },
    { day: "2026-03-02", tokens: 0, requests: 0 },
  ]);
});

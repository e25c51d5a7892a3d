import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDuration, rateHeaders } from "./rate-headers.ts";

test("formats durations as OpenAI does", () => {
  const written = { 0: "0s", 0.0004: "1ms", 0.12: "120ms", 1: "1s", 8.2: "9s", 59.5: "1m0s", 360: "6m0s" };
  for (const [seconds, text] of Object.entries(written)) assert.equal(formatDuration(Number(seconds)), text);
});

test("sends no headers for limits that are not set", () => {
  const requests = { limit: 60, remaining: 0, resetSeconds: 90 };
  assert.deepEqual(rateHeaders({ requests, tokens: null }), {
    "x-ratelimit-limit-requests": "60",
    "x-ratelimit-remaining-requests": "0",
    "x-ratelimit-reset-requests": "1m30s",
  });
});

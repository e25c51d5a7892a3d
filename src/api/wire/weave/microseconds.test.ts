import assert from "node:assert/strict";
import { test } from "node:test";
import { elapsedMs, utcMicroseconds } from "./microseconds.ts";

test("keeps the microseconds of times, and converts them to UTC in a form that sorts as text", () => {
  const forms = {
    "2026-11-21T10:25:44.072468Z": "2026-11-21T10:25:44.072468Z",
    "2026-11-21T10:25:44Z": "2026-11-21T10:25:44.000000Z",
    "2026-11-21T10:25:44.5": "2026-11-21T10:25:44.500000Z",
    "2026-11-21 10:25:44.123456789+02:00": "2026-11-21T08:25:44.123456Z",
    "2026-11-21T23:30-01:00": "2026-11-22T00:30:00.000000Z",
    "2026-11-21t10:25:44z": "2026-11-21T10:25:44.000000Z",
    "2026-11-21 12:00 PM GMT+0200": "2026-11-21T10:00:00.000000Z",
  };
  for (const [sent, kept] of Object.entries(forms)) assert.equal(utcMicroseconds(sent), kept, sent);
});

test("measures the time between two times in milliseconds, but never less than zero", () => {
  assert.equal(elapsedMs("2026-11-21T10:25:44.072468Z", "2026-11-21T10:25:44.074219Z"), 2);
  assert.equal(elapsedMs("2026-11-21T10:25:45.000000Z", "2026-11-21T10:25:44.000000Z"), 0);
});

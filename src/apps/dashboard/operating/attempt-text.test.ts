// Tests of the descriptions of webhook deliveries.
import assert from "node:assert/strict";
import { test } from "node:test";
import { attemptText } from "./attempt-text.ts";

const check = (status: number | null, error: string | null, expected: string): void =>
  assert.equal(
    attemptText({ attempts: [{ at: "2026-01-01T00:00:00Z", duration_ms: 20, status, error, answer: "" }] }),
    expected,
  );

test("names the status of an attempt once, and the reason if there was no answer", () => {
  check(200, null, "status 200 after 20 ms");
  check(500, "status 500", "status 500 after 20 ms");
  check(null, "connect ECONNREFUSED", "no answer after 20 ms: connect ECONNREFUSED");
  assert.equal(attemptText({ attempts: [] }), "not tried yet");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { restartDelayMs, restartWindowMs } from "./restart-policy.ts";

const check = (restartedAtMs: readonly number[], nowMs: number, expected: number | null): void => {
  assert.equal(restartDelayMs(restartedAtMs, nowMs, 8), expected);
};

test("restarts soon at first, then with growing delays up to ten seconds", () => {
  check([], 0, 250);
  check([0], 0, 500);
  check([0, 0, 0, 0, 0, 0], 0, 10_000);
});

test("gives up after too many restarts in the window, and forgets old ones", () => {
  const eight = Array.from({ length: 8 }, (_, index) => index);
  check(eight, 100, null);
  check(eight, restartWindowMs + 7, 250);
});

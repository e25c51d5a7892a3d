// Tests of relative times: the past, the future, and clocks that differ a little.
import assert from "node:assert/strict";
import { test } from "node:test";
import { relativeTime } from "./relative-time.ts";

const now = Date.parse("2026-06-01T12:00:00Z");
const check = (secondsAgo: number, expected: string): void =>
  assert.equal(relativeTime(new Date(now - secondsAgo * 1000), now), expected);

test("formats a time in the past in its largest unit", () => {
  check(59, "just now");
  check(61, "1 min ago");
  check(2 * 3600, "2 h ago");
  check(3 * 86_400, "3 d ago");
  check(40 * 86_400, "Apr 22, 2026");
});

test("formats a time in the future", () => {
  check(-30, "in less than 1 min");
  check(-150, "in 2 min");
});

test("shows a time as just now if the server's clock is a few seconds ahead", () => {
  check(-9, "just now");
});

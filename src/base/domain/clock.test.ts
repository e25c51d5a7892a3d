import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "./clock.ts";

test("sleeps until the time has passed, or rejects with the signal's reason", async () => {
  const start = systemClock.monotonicMs();
  await systemClock.sleep(5);
  // A timer counts whole milliseconds, so it may end up to one millisecond early.
  assert.ok(systemClock.monotonicMs() - start >= 4);
  const reason = new Error("enough");
  const controller = new AbortController();
  const { signal } = controller;
  const sleeping = systemClock.sleep(3_600_000, { signal });
  controller.abort(reason);
  await assert.rejects(sleeping, reason);
  await assert.rejects(systemClock.sleep(3_600_000, { signal }), reason);
  await systemClock.sleep(0, { signal: new AbortController().signal });
});

test("returns the time of the system", () => {
  assert.ok(Math.abs(systemClock.now().getTime() - Date.now()) < 60_000);
});

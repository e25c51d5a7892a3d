import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../base/domain/service-error.ts";
import { backoffMs, endingOf } from "./next-state.ts";

const settings = { attemptsMax: 3, backoffMs: 100, backoffMsMax: 1000 };
const none = { lostCount: 0, waitCount: 0, hasAdvanced: false };
const threw = (error: Error) => ({ kind: "threw", error }) as const;
const died = new ServiceError({ code: "unavailable", message: "It died." });
const full = new ServiceError({ code: "unavailable", message: "The disk is full.", obstacle: "full-disk" });

test("writes nothing for an attempt whose job was lost, with any result", () => {
  for (const error of [died, full, new Error("a bug")]) {
    assert.deepEqual(endingOf(threw(error), "lost", none, settings), { kind: "leave" });
  }
});

test("cancels a cancelled attempt and requeues a parked one, regardless of its error", () => {
  const cancelled = endingOf(threw(died), "cancel", none, settings);
  assert.ok(cancelled.kind === "end" && cancelled.state === "cancelled");
  assert.deepEqual(endingOf(threw(new Error("a bug")), "park", none, settings), { kind: "park" });
});

test("waits for the machine without limit, and retries a lost attempt up to a limit", () => {
  const met = endingOf(threw(full), null, { ...none, lostCount: 9, waitCount: 2 }, settings);
  assert.deepEqual(met, { kind: "wait", waitMs: 400, reason: "The disk is full." });
  assert.deepEqual(endingOf(threw(died), null, { ...none, lostCount: 1 }, settings), {
    kind: "retry",
    waitMs: 200,
  });
  const last = endingOf(threw(died), null, { ...none, lostCount: 2 }, settings);
  assert.ok(last.kind === "end" && last.state === "failed" && /after 3 lost attempts/.test(last.message));
});

test("does not count a lost attempt that saved further steps", () => {
  const ending = endingOf(threw(died), null, { lostCount: 2, waitCount: 0, hasAdvanced: true }, settings);
  assert.deepEqual(ending, { kind: "retry", waitMs: 100 });
});

test("doubles waits up to their maximum", () => {
  assert.deepEqual(
    [0, 1, 3, 4].map((count) => backoffMs(count, settings)),
    [100, 200, 800, 1000],
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { WhenIdle } from "./serial-calls.ts";

/** Returns a bench that counts as idle after one second without work. */
function bench() {
  const clock = new FakeClock();
  const counts = { acts: 0 };
  const idle = new WhenIdle(clock, 1000, async () => void counts.acts++);
  return { clock, counts, idle };
}

/** Starts work that lasts until `end` is called. */
function openWork(idle: WhenIdle): { readonly end: () => Promise<void> } {
  let resolve = (): void => undefined;
  const over = idle.during(() => new Promise<void>((done) => (resolve = done)));
  return {
    end: async () => {
      resolve();
      await over;
    },
  };
}

test("acts once after an idle time that follows work, and again after the next work", async () => {
  const { clock, counts, idle } = bench();
  assert.equal(await idle.during(async () => "result"), "result");
  await clock.advance(999);
  assert.equal(counts.acts, 0);
  await clock.advance(1);
  assert.equal(counts.acts, 1);
  await clock.advance(10_000);
  assert.equal(counts.acts, 1);
  await assert.rejects(
    idle.during(() => Promise.reject(new Error("failed"))),
    { message: "failed" },
  );
  await clock.advance(1000);
  assert.equal(counts.acts, 2);
});

test("does not act during work, even if it began before the earlier work had ended", async () => {
  const { clock, counts, idle } = bench();
  const first = openWork(idle);
  await clock.advance(5000);
  const second = openWork(idle);
  await first.end();
  await clock.advance(5000);
  assert.equal(counts.acts, 0);
  await second.end();
  await clock.advance(500);
  const third = openWork(idle);
  await clock.advance(5000);
  assert.equal(counts.acts, 0);
  await third.end();
  await clock.advance(1000);
  assert.equal(counts.acts, 1);
});

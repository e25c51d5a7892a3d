import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { garbageCollector, IdleGc } from "./idle-work.ts";

test("collects once after each stretch of work, and not during it", async () => {
  const clock = new FakeClock();
  let count = 0;
  const collection = new IdleGc(clock, { collect: () => (count += 1), beforeIdle: () => undefined });
  for (let step = 0; step < 20; step++) {
    collection.postpone(0);
    await clock.advance(500);
  }
  assert.equal(count, 0);
  await clock.advance(10_000);
  assert.equal(count, 1);
  collection.postpone(0);
  await clock.advance(10_000);
  assert.equal(count, 2);
});

test("collects during work when large blocks have been dropped, and keeps spare blocks then", async () => {
  const clock = new FakeClock();
  const calls: string[] = [];
  const collection = new IdleGc(clock, {
    collect: () => calls.push("collect"),
    beforeIdle: () => calls.push("release spares"),
  });
  const half = 32 * 2 ** 20;
  collection.postpone(half);
  assert.deepEqual(calls, []);
  collection.postpone(half);
  assert.deepEqual(calls, ["collect"]);
  collection.postpone(half);
  assert.deepEqual(calls, ["collect"]);
  await clock.advance(10_000);
  assert.deepEqual(calls, ["collect", "release spares", "collect"]);
});

test("frees an array that nothing holds, and no other", async () => {
  const collect = garbageCollector();
  const held = new Float32Array(2 ** 20);
  const references = [held, new Float32Array(2 ** 20)].map((array) => new WeakRef(array));
  // A new WeakRef keeps its target alive until the current turn of the event loop ends.
  await setImmediate();
  collect();
  assert.deepEqual(
    references.map((reference) => reference.deref() === held),
    [true, false],
  );
  assert.equal(references[1].deref(), undefined);
});

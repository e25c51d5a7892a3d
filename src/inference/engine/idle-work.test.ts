import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { IdleWork } from "./idle-work.ts";

test("runs one task in each idle moment, and postpones the next while there are calls", async () => {
  const clock = new FakeClock();
  const done: number[] = [];
  const work = new IdleWork(
    clock,
    [1, 2, 3].map((number) => () => Promise.resolve(done.push(number))),
  );
  await clock.advance(20_000);
  assert.deepEqual(done, [], "before the model's first call, the server may still be loading other models");
  work.postpone();
  await clock.advance(999);
  assert.deepEqual(done, []);
  await clock.advance(1);
  assert.deepEqual(done, [1]);
  work.postpone();
  await clock.advance(100);
  assert.deepEqual(done, [1]);
  await clock.advance(100);
  assert.deepEqual(done, [1, 2]);
  await work.stop();
  await clock.advance(1000);
  assert.deepEqual(done, [1, 2]);
});

test("continues after a task that fails", async () => {
  const clock = new FakeClock();
  const done: number[] = [];
  const work = new IdleWork(clock, [
    () => Promise.reject(new Error("no memory")),
    () => Promise.resolve(done.push(2)),
  ]);
  await clock.advance(31_100);
  assert.deepEqual(done, [2], "the wait for the first call has a limit");
  await work.stop();
});

test("accepts further tasks, also after all earlier ones have run", async () => {
  const clock = new FakeClock();
  const done: number[] = [];
  const task = (number: number) => () => Promise.resolve(done.push(number));
  const work = new IdleWork(clock, [task(1)]);
  work.add(task(2));
  await clock.advance(31_100);
  assert.deepEqual(done, [1, 2]);
  work.add(task(3));
  work.postpone();
  await clock.advance(100);
  assert.deepEqual(done, [1, 2]);
  await clock.advance(100);
  assert.deepEqual(done, [1, 2, 3]);
  await work.stop();
  work.add(task(4));
  await clock.advance(1000);
  assert.deepEqual(done, [1, 2, 3]);
});

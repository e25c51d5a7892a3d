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

test("a long task waits between its steps while there are calls, and ends when the work is stopped", async () => {
  const clock = new FakeClock();
  const steps: number[] = [];
  const errors: unknown[] = [];
  const work = new IdleWork(clock, [
    async (untilIdle) => {
      for (const step of [1, 2, 3, 4]) {
        await untilIdle().catch((error: unknown) => (errors.push(error), Promise.reject(error)));
        steps.push(step);
        if (step < 4) work.postpone();
        await clock.sleep(10);
      }
    },
  ]);
  work.postpone();
  await clock.advance(1000);
  assert.deepEqual(steps, [1], "the first step needs no further idle moment");
  await clock.advance(109);
  assert.deepEqual(steps, [1]);
  await clock.advance(1);
  assert.deepEqual(steps, [1, 2]);
  await clock.advance(10);
  await Promise.all([work.stop(), clock.advance(100)]);
  assert.deepEqual(steps, [1, 2]);
  assert.deepEqual(
    errors.map((error) => (error as Error).name),
    ["AbortError"],
  );
});

test("runs urgent tasks and their steps even if the engine is always busy, but no others", async () => {
  const clock = new FakeClock();
  const done: string[] = [];
  const urgent = async (untilIdle: () => Promise<void>): Promise<void> => {
    done.push("first step");
    await untilIdle();
    done.push("second step");
  };
  const work = new IdleWork(clock, [() => Promise.resolve(done.push("other"))], [urgent]);
  const busyFor = async (ms: number): Promise<void> => {
    for (let spent = 0; spent < ms; spent += 50) {
      work.postpone();
      await clock.advance(50);
    }
  };
  await busyFor(1900);
  assert.deepEqual(done, []);
  await busyFor(200);
  assert.deepEqual(done, ["first step"]);
  await busyFor(2000);
  assert.deepEqual(done, ["first step", "second step"]);
  await busyFor(60_000);
  assert.deepEqual(done, ["first step", "second step"]);
  await clock.advance(200);
  assert.deepEqual(done, ["first step", "second step", "other"]);
  await work.stop();
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

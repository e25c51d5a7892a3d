import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { eachConcurrently } from "./each-concurrently.ts";

test("calls the function for each item in order, at most two at a time", async () => {
  const begun: number[] = [];
  let [running, most] = [0, 0];
  await eachConcurrently([1, 2, 3, 4, 5], 2, async (item) => {
    begun.push(item);
    most = Math.max(most, ++running);
    await setImmediate();
    running--;
  });
  assert.deepEqual(begun, [1, 2, 3, 4, 5]);
  assert.equal(most, 2);
});

test("after an error, begins no further call, and waits for those that run", async () => {
  const ended: number[] = [];
  const running = eachConcurrently([1, 2, 3, 4], 2, async (item) => {
    if (item === 1) throw new Error("one");
    await setImmediate();
    ended.push(item);
  });
  await assert.rejects(running, /one/);
  assert.deepEqual(ended, [2]);
});

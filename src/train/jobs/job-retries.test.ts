// Tests that a job that has ended can be retried as a new job.
import assert from "node:assert/strict";
import { test } from "node:test";
import { present } from "../../base/domain/assert.ts";
import type { JobQueue } from "./job-queue.ts";
import { twoSteps, lost, Bench } from "./testing/queue-bench.ts";

async function retryOf(bench: Bench, queue: JobQueue, id: string): Promise<string> {
  return queue.retry(present(await bench.database.jobs.find(id), "the job"));
}

test("retries a failed job as a new job, the same one for repeated calls", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([lost, lost, twoSteps], { attemptsMax: 1 });
  await bench.submit(queue, "a");
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "failed");
  const second = await retryOf(bench, queue, "a");
  assert.equal(await retryOf(bench, queue, "a"), second);
  await bench.clock.advance(0);
  assert.equal(await bench.state(second), "failed");
  // Retrying the first or the second job retries the last failed job. Both calls therefore return the same new job.
  const third = await retryOf(bench, queue, "a");
  assert.equal(await retryOf(bench, queue, second), third);
  await bench.clock.advance(0);
  assert.equal(await bench.state(third), "succeeded");
  assert.equal(await retryOf(bench, queue, "a"), third);
  assert.deepEqual((await bench.database.jobs.find(third))?.retryOf, "a");
});

test("refuses to retry a job that has not failed, and says why", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps]);
  await bench.submit(queue, "a");
  await bench.clock.advance(0);
  await assert.rejects(retryOf(bench, queue, "a"), { code: "conflict", message: /it is succeeded/ });
});

test("retries a cancelled job", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  await idle.cancel("a");
  const queue = await bench.start([twoSteps]);
  const again = await retryOf(bench, queue, "a");
  await bench.clock.advance(0);
  assert.equal(await bench.state(again), "succeeded");
});

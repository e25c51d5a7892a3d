// Tests cancelling jobs, and deleting the model of a job.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import type { JobStore } from "../../base/domain/job.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import {
  type Run,
  counts,
  startedEvent,
  twoSteps,
  untilInterrupted,
  lost,
  pinsFor,
  Bench,
} from "./testing/queue-bench.ts";

test("cancels a queued job immediately, and runs the job it held back", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([lost, twoSteps], { backoffMs: 60_000 });
  await bench.submit(queue, "a");
  await bench.submit(queue, "b");
  assert.equal(await bench.state("b"), "queued");
  assert.equal((await queue.cancel("a")).state, "cancelled");
  await bench.clock.advance(0);
  assert.equal(await bench.state("b"), "succeeded");
});

test("interrupts and cancels a running job, with a terminal event", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted]);
  await bench.submit(queue, "a");
  const answer = await queue.cancel("a");
  assert.deepEqual([answer.state, answer.cancelRequested], ["running", true]);
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "cancelled");
  assert.deepEqual(await bench.events("a"), [
    ["training_started", startedEvent],
    ["gradient_step", { loss: 1 }],
    ["training_failed", { error_message: "The job was cancelled." }],
  ]);
  assert.equal((await queue.cancel("a")).state, "cancelled");
  await assert.rejects(queue.cancel("x"), { code: "not_found" });
});

test("cancels all jobs of a model, running and queued, and no others", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted], { concurrency: 2 });
  for (const [id, modelId] of [
    ["a", "m"],
    ["b", "m"],
    ["c", "n"],
  ])
    await bench.submit(queue, id, modelId);
  await queue.cancelAll("m");
  await bench.clock.advance(0);
  const states = [await bench.state("a"), await bench.state("b"), await bench.state("c")];
  assert.deepEqual(states, ["cancelled", "cancelled", "running"]);
});

test("removes a dead server's data of a job with its model, also before the job is resumed", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  await bench.claimAndDie();
  await idle.cancelAll("m");
  assert.deepEqual(bench.discardedWork, ["a"]);
});

test("removes a job's kept data if its model was deleted while an attempt was lost", async (t) => {
  const bench = await Bench.open(t);
  const { jobs, models } = bench.database;
  const release: JobStore["release"] = async (...args) => {
    const isReleased = await jobs.release(...args);
    await models.delete("m");
    return isReleased;
  };
  const queue = bench.build(lost, {}, { ...jobs, release });
  await queue.start();
  await bench.submit(queue, "a");
  assert.deepEqual([bench.discarded, bench.discardedWork], [["a"], ["a"]]);
  // Starting a server removes data that attempts of ended jobs left behind.
  assert.deepEqual(bench.kept, []);
});

test("waits for a job that is being claimed while its model's jobs are cancelled", async (t) => {
  const bench = await Bench.open(t);
  const { jobs } = bench.database;
  const slow: JobStore = {
    ...jobs,
    claim: async (...args) => {
      const job = await jobs.claim(...args);
      if (job !== null) await bench.clock.sleep(100);
      return job;
    },
  };
  const queue = bench.build(untilInterrupted, {}, slow);
  await queue.start();
  await bench.submit(queue, "a");
  assert.equal(await bench.state("a"), "running");
  const cancelling = queue.cancelAll("m");
  await bench.clock.advance(100);
  await cancelling;
  assert.equal(await bench.state("a"), "cancelled");
  assert.equal(queue.status().runningCount, 0);
});

test("leaves an ended job unchanged when it is cancelled", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps]);
  await bench.submit(queue, "a");
  assert.equal((await queue.cancel("a")).state, "succeeded");
});

test("notices a cancellation by another process at the next heartbeat", async (t) => {
  const bench = await Bench.open(t);
  bench.announcements = { listen: () => () => undefined };
  const queue = await bench.start([untilInterrupted]);
  await bench.submit(queue, "a");
  await bench.database.jobs.requestCancel("a", bench.clock.now());
  await bench.clock.advance(15_000);
  assert.equal(await bench.state("a"), "cancelled");
  assert.equal(queue.status().runningCount, 0);
});

test("completes a cancellation that a crash interrupted, on the next server", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  await bench.claimAndDie();
  await bench.database.jobs.requestCancel("a", bench.clock.now());
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "cancelled");
});

const deletions: readonly {
  readonly when: string;
  readonly run: (deleteModel: () => Promise<void>) => Run;
  readonly isBeforePins?: boolean;
}[] = [
  { when: "before it is pinned", run: () => twoSteps, isBeforePins: true },
  {
    when: "before it starts",
    run:
      (deleteModel) =>
      async (...args) => {
        await deleteModel();
        return await twoSteps(...args);
      },
  },
  {
    when: "while it trains",
    run:
      (deleteModel) =>
      async (_assignment, report, { signal }) => {
        await report({ kind: "started", stepCount: 2, counts, metrics: startedEvent });
        await deleteModel();
        await once(signal, "abort");
        throw new ServiceError({ code: "cancelled", message: "interrupted" });
      },
  },
  {
    when: "before its version is written",
    run:
      (deleteModel) =>
      async (...args) => {
        const made = await twoSteps(...args);
        await deleteModel();
        return made;
      },
  },
];

for (const { when, run, isBeforePins = false } of deletions) {
  test(`drops a job and its output when its model is deleted ${when}, and continues the queue`, async (t) => {
    const bench = await Bench.open(t);
    const deleteModel = async (): Promise<void> => void (await bench.database.models.delete("m"));
    const queue = await bench.start([run(deleteModel), twoSteps]);
    if (isBeforePins)
      bench.pinsFor = async ({ id }) => {
        if (id === "m") await deleteModel();
        return await pinsFor();
      };
    await bench.submit(queue, "a", "m");
    await bench.submit(queue, "b", "n");
    await bench.clock.advance(15_000);
    assert.equal(await bench.state("a"), undefined);
    assert.equal(await bench.state("b"), "succeeded");
    assert.deepEqual(bench.errors, []);
    assert.deepEqual([...new Set(bench.discarded)], isBeforePins ? [] : ["a"]);
    assert.deepEqual(bench.discardedWork, ["a", "b"]);
  });
}

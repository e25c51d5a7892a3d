// Tests jobs from submission to the finished version: order, pins (inputs that must not change), seeds, limits and
// refusals.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { JobPins, JobStore } from "../../base/domain/job.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { resolveTrainingConfig } from "../../base/domain/training-config.ts";
import { checkService, type ServiceUnderTest } from "../../base/domain/testing/check-service.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { embeddedProfile } from "../trainer/embedded/profile.ts";
import { JobQueue } from "./job-queue.ts";
import { newJob } from "./new-job.ts";
import { jobSettings } from "./settings.ts";
import {
  type Run,
  counts,
  outcome,
  startedEvent,
  twoSteps,
  untilInterrupted,
  lost,
  pinsFor,
  Bench,
} from "./testing/queue-bench.ts";

/** Returns a queue on a separate store, once the queue is idle: one loop waits for work, the other for lost leases. */
async function idleQueue(t: TestContext, jobs: Partial<JobStore> = {}): Promise<ServiceUnderTest> {
  const { clock, database } = await Bench.open(t);
  const service = new JobQueue(
    {
      jobs: { ...database.jobs, ...jobs },
      models: database.models,
      runner: {
        trainer: embeddedProfile,
        pinsFor,
        run: twoSteps,
        keep: async () => undefined,
        discard: async () => undefined,
        discardWork: async () => undefined,
        discardState: async () => undefined,
      },
      clock,
      logger: silentLogger,
      lease: { id: "server" },
      announcements: database.announcements,
    },
    jobSettings.with({ concurrency: 1 }),
  );
  const upCount = async (): Promise<number> => {
    await clock.advance(0);
    return clock.sleepingCount / 2;
  };
  return { service, upCount };
}

checkService({
  name: "job queue",
  make: (t) => idleQueue(t),
  failing: {
    code: "internal",
    make: (t) =>
      idleQueue(t, {
        rescue: () => Promise.reject(new ServiceError({ code: "internal", message: "The disk is full." })),
      }),
  },
});

test("runs a submitted job immediately, creates the next version, and emits its events", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps]);
  await bench.submit(queue, "a");
  await bench.submit(queue, "b");
  const { jobs, models } = bench.database;
  assert.deepEqual(await bench.events("a"), [
    ["training_started", startedEvent],
    ["gradient_step", { loss: 1 }],
    ["gradient_step", { loss: 0.7 }],
    ["training_ended", { loss: 0.5, step: 1 }],
  ]);
  const job = await jobs.find("b");
  assert.deepEqual([job?.state, job?.resultStep, job?.attemptCount], ["succeeded", 2, 1]);
  const steps = { gradientStepCount: 2, gradientStepCountTotal: 2, savedStepCount: 0 };
  assert.deepEqual(job?.progress, { phase: "preparing", prepared: null, ...steps, endsAt: null });
  assert.deepEqual(job?.counts, counts);
  const version = await models.newestVersion("m");
  assert.deepEqual(
    [version?.step, version?.jobId, version?.adapterFolder, version?.metrics],
    [2, "b", "adapters/x", { loss: 0.5 }],
  );
});

test("prepares a version before it becomes the newest, and stores it even if that fails", async (t) => {
  const bench = await Bench.open(t);
  const prepared: unknown[] = [];
  bench.prepareVersion = async ({ modelId, step, adapterHash }, baseModel) => {
    const newest = await bench.database.models.newestVersion(modelId);
    prepared.push([baseModel, step, adapterHash, newest?.step]);
    if (step === 2) throw new ServiceError({ code: "conflict", message: "The engine cannot load it." });
  };
  const queue = await bench.start([twoSteps]);
  for (const id of ["a", "b"]) await bench.submit(queue, id);
  assert.deepEqual(prepared, [
    ["tiny", 1, "hash", 0],
    ["tiny", 2, "hash", 1],
  ]);
  assert.deepEqual([await bench.state("a"), await bench.state("b")], ["succeeded", "succeeded"]);
  assert.equal((await bench.database.models.newestVersion("m"))?.step, 2);
});

test("starts each job from the newest version", async (t) => {
  const bench = await Bench.open(t);
  const seen: unknown[] = [];
  const queue = await bench.start([
    async (assignment, report) => {
      seen.push([assignment.job.id, assignment.from.step, assignment.pins.resultStep]);
      await report({ kind: "started", stepCount: 0, counts, metrics: { num_sequences: 0 } });
      return outcome;
    },
  ]);
  await bench.submit(queue, "a");
  await bench.submit(queue, "b");
  await bench.database.models.deleteVersions("m", [2], new Date(0));
  await bench.submit(queue, "c");
  assert.deepEqual(seen, [
    ["a", 0, 1],
    ["b", 1, 2],
    ["c", 1, 3],
  ]);
});

test("gives every attempt the pins of the first", async (t) => {
  const bench = await Bench.open(t);
  const seen: JobPins[] = [];
  const attempt: Run = async ({ pins }, report) => {
    seen.push(pins);
    if (seen.length === 1) throw new ServiceError({ code: "unavailable", message: "died" });
    await report({ kind: "started", stepCount: 0, counts, metrics: { num_sequences: 0 } });
    return outcome;
  };
  const queue = await bench.start([attempt], { backoffMs: 1000 });
  await bench.submit(queue, "a");
  bench.pinsFor = () => assert.fail("a pinned job is not pinned again");
  await bench.clock.advance(1000);
  assert.equal(await bench.state("a"), "succeeded");
  const [first, second] = seen;
  assert.deepEqual(second, first);
  assert.deepEqual((await bench.database.jobs.find("a"))?.pins, first);
  const { seed, ...rest } = first;
  assert.match(seed, /^[0-9a-f]{64}$/);
  assert.deepEqual(rest, { startStep: 0, resultStep: 1, ...(await pinsFor()), hasTrainerState: false });
});

test("derives the seed from a job's content and start, not from its id, model or time", async (t) => {
  const bench = await Bench.open(t);
  const seeds: string[] = [];
  const queue = await bench.start([
    async ({ pins }, report) => {
      seeds.push(pins.seed);
      await report({ kind: "started", stepCount: 0, counts, metrics: { num_sequences: 0 } });
      return outcome;
    },
  ]);
  await bench.submit(queue, "a", "m");
  await bench.clock.advance(5000);
  await bench.submit(queue, "b", "n");
  await bench.submit(queue, "c", "m");
  assert.equal(seeds[0], seeds[1]);
  assert.notEqual(seeds[2], seeds[0]);
});

test("keeps the version a job started from until the job has ended", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps, lost, twoSteps], { backoffMs: 1000 });
  await bench.submit(queue, "a");
  await bench.submit(queue, "b");
  assert.deepEqual((await bench.database.models.deleteVersions("m", [1], new Date(0))).inUse, [1]);
  await bench.clock.advance(1000);
  assert.equal(await bench.state("b"), "succeeded");
  assert.deepEqual((await bench.database.models.deleteVersions("m", [1], new Date(0))).deleted, [1]);
});

test("fails a job whose start version is deleted before it is pinned, naming the version", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps, twoSteps]);
  await bench.submit(queue, "a");
  bench.pinsFor = async () => {
    await bench.database.models.deleteVersions("m", [1], new Date(0));
    return pinsFor();
  };
  await bench.submit(queue, "b");
  assert.equal(await bench.state("b"), "failed");
  assert.match(await bench.message("b"), /^Version 1, .* was deleted/);
});

test("fails a job with the runner's message if the runner cannot pin it", async (t) => {
  const bench = await Bench.open(t);
  bench.pinsFor = () => Promise.reject(new ServiceError({ code: "unsupported", message: "No such base." }));
  const queue = await bench.start([twoSteps]);
  await bench.submit(queue, "a");
  assert.deepEqual([await bench.state("a"), await bench.message("a")], ["failed", "No such base."]);
});

test("runs jobs of different models together, and those of one model in sequence", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted], { concurrency: 3 });
  await bench.submit(queue, "m1", "m");
  await bench.submit(queue, "m2", "m");
  await bench.submit(queue, "n1", "n");
  assert.deepEqual(
    [await bench.state("m1"), await bench.state("m2"), await bench.state("n1")],
    ["running", "queued", "running"],
  );
  const { runningCount, runningCountMax, watcherCount } = queue.status();
  assert.deepEqual([runningCount, runningCountMax, watcherCount], [2, 3, 0]);
});

test("fails an invalid job immediately with the runner's message", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([
    async () => {
      throw new ServiceError({ code: "unsupported", message: "No trajectory fits the context." });
    },
  ]);
  await bench.submit(queue, "a");
  assert.deepEqual(
    [await bench.state("a"), await bench.message("a")],
    ["failed", "No trajectory fits the context."],
  );
});

test("fails a job on an unexpected error without showing internals", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([
    async () => {
      throw new Error("secret path /x");
    },
    twoSteps,
  ]);
  await bench.submit(queue, "a");
  await bench.submit(queue, "b");
  assert.deepEqual(
    [await bench.state("a"), await bench.message("a")],
    ["failed", "The job ended with an internal error; the server's log has it."],
  );
  assert.equal(await bench.state("b"), "succeeded", "the queue goes on");
});

test("never emits a metric that is not a number", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([
    async (_assignment, report) => {
      await report({ kind: "started", stepCount: 1, counts, metrics: { num_sequences: 1 } });
      await report({ kind: "stepped", index: 0, metrics: { loss: Number.NaN } });
      return outcome;
    },
  ]);
  await bench.submit(queue, "a");
  assert.equal(await bench.state("a"), "failed");
  assert.match(JSON.stringify(await bench.events("a")), /"training_started".*"training_failed"/);
});

test("discards the output of a job without a version before its end is visible", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted, twoSteps, lost], { attemptsMax: 1 });
  await bench.submit(queue, "a");
  assert.deepEqual(bench.discarded, []);
  await queue.cancel("a");
  await bench.clock.advance(0);
  await bench.submit(queue, "b");
  assert.deepEqual(bench.discarded, ["a"]);
  await bench.submit(queue, "c");
  assert.deepEqual(bench.discarded, ["a", "c"]);
});

test("refuses jobs while the queue is full", async (t) => {
  const bench = await Bench.open(t);
  const queue = bench.build(twoSteps, { queuedMax: 1 });
  await bench.submit(queue, "a");
  await assert.rejects(bench.submit(queue, "b"), { code: "overloaded" });
  await queue.start();
  await bench.clock.advance(0);
  await bench.submit(queue, "b");
  assert.equal(await bench.state("b"), "succeeded");
});

test("starts one job per idempotency key", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps]);
  const key = { keyId: "k", key: "once", bodyHash: "h" };
  const job = (id: string) =>
    newJob({
      id,
      modelId: "m",
      task: { kind: "rl", config: resolveTrainingConfig({}) },
      configNotApplied: [],
      createdAt: bench.clock.now(),
    });
  assert.deepEqual(await queue.submit(job("a"), [], key), { id: "a", isNew: true });
  assert.deepEqual(await queue.submit(job("b"), [], key), { id: "a", isNew: false });
  await bench.clock.advance(0);
  assert.equal(await bench.database.models.greatestStep("m"), 1);
});

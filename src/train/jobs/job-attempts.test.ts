// Tests attempts at a job: retries, waits until the machine can run the job, and what an attempt reports and keeps
// while it runs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { present } from "../../base/domain/assert.ts";
import type { JobReport, JobStore } from "../../base/domain/job.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { rescueNow } from "../../store/database/contract/storage-under-test.ts";
import {
  type Run,
  counts,
  outcome,
  startedEvent,
  twoSteps,
  untilInterrupted,
  lost,
  Bench,
} from "./testing/queue-bench.ts";

test("retries a lost attempt after a growing wait, and repeats no event", async (t) => {
  const bench = await Bench.open(t);
  const lostAfterAStep: Run = async (_assignment, report) => {
    await report({ kind: "started", stepCount: 2, counts, metrics: startedEvent });
    await report({ kind: "stepped", index: 0, metrics: { loss: 1 } });
    throw new ServiceError({ code: "unavailable", message: "The training process died." });
  };
  const queue = await bench.start([lostAfterAStep, lostAfterAStep, twoSteps], { backoffMs: 4000 });
  await bench.submit(queue, "a");
  assert.equal(await bench.state("a"), "queued");
  await bench.clock.advance(3000);
  assert.equal((await bench.database.jobs.find("a"))?.attemptCount, 1);
  await bench.clock.advance(1000);
  assert.equal((await bench.database.jobs.find("a"))?.attemptCount, 2);
  await bench.clock.advance(7000);
  assert.equal(await bench.state("a"), "queued");
  await bench.clock.advance(1000);
  assert.deepEqual(await bench.events("a"), [
    ["training_started", startedEvent],
    ["gradient_step", { loss: 1 }],
    ["gradient_step", { loss: 0.7 }],
    ["training_ended", { loss: 0.5, step: 1 }],
  ]);
});

test("fails a job after its last attempt, and says why", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([lost], { pollMs: 10_000 });
  await bench.submit(queue, "a");
  for (let minute = 0; minute < 20; minute++) await bench.clock.advance(60_000);
  const message = "The job was given up after 20 lost attempts. The last error: The training process died.";
  assert.equal(await bench.state("a"), "failed");
  assert.equal(await bench.message("a"), message);
  assert.deepEqual(await bench.events("a"), [["training_failed", { error_message: message }]]);
});

test("keeps retrying a job while each attempt saves further steps", async (t) => {
  const bench = await Bench.open(t);
  const upTo =
    (savedCount: number): Run =>
    async (_assignment, report) => {
      await report({ kind: "started", stepCount: 9, counts, metrics: startedEvent });
      await report({ kind: "saved", stepCount: savedCount });
      throw new ServiceError({ code: "unavailable", message: "The training process died." });
    };
  const runs = [0, 0, 1, 1, 2, 3, 3, 4].map(upTo);
  const queue = await bench.start([...runs, twoSteps], { attemptsMax: 3, backoffMs: 10 });
  await bench.submit(queue, "a");
  await bench.clock.advance(60_000);
  assert.equal(await bench.state("a"), "succeeded");
  const stuck = await bench.start([...[1, 1, 1].map(upTo), twoSteps], { attemptsMax: 2, backoffMs: 10 });
  await queue.stop();
  await bench.submit(stuck, "b");
  await bench.clock.advance(60_000);
  assert.equal(await bench.state("b"), "failed");
});

test("leaves the version of another server unchanged when an attempt fails late", async (t) => {
  const bench = await Bench.open(t);
  let goOn = (): void => undefined;
  const isOver = new Promise<void>((resolve) => (goOn = resolve));
  const queue = await bench.start([
    async (_assignment, report) => {
      await report({ kind: "started", stepCount: 1, counts, metrics: startedEvent });
      // Meanwhile, another server starts and recovers the job, so this attempt no longer owns it.
      await bench.renewServer();
      await rescueNow(bench.database.jobs);
      await isOver;
      throw new ServiceError({ code: "unsupported", message: "It cannot work." });
    },
  ]);
  await bench.submit(queue, "a");
  const other = await bench.start([twoSteps]);
  await bench.clock.advance(1000);
  assert.equal(await bench.state("a"), "succeeded");
  goOn();
  await bench.clock.advance(0);
  await other.stop();
  assert.deepEqual([bench.discarded, await bench.state("a")], [[], "succeeded"]);
});

test("reports a job's counts, its progress, the saved steps and the expected end", async (t) => {
  const bench = await Bench.open(t);
  const seen: unknown[] = [];
  const look = async (): Promise<void> => {
    const { clock, database } = bench;
    const progress = (await database.jobs.find("j"))?.progress;
    const endsAt = progress?.endsAt ?? null;
    const seconds = endsAt === null ? null : (endsAt.getTime() - clock.now().getTime()) / 1000;
    const { phase, prepared, gradientStepCount, savedStepCount } = progress ?? {};
    seen.push([phase, prepared?.count, gradientStepCount, savedStepCount, seconds]);
  };
  const queue = await bench.start([
    async (_assignment, report) => {
      await look();
      await report({ kind: "prepared", count: 4, total: 8, secondsLeft: 20 });
      await look();
      await report({ kind: "prepared", count: 8, total: 8, secondsLeft: 0 });
      await report({ kind: "started", stepCount: 2, counts, metrics: startedEvent });
      await look();
      await report({ kind: "entered", phase: "training" });
      await report({ kind: "stepped", index: 0, metrics: { loss: 1 }, secondsLeft: 30 });
      await look();
      await report({ kind: "saved", stepCount: 1 });
      await look();
      await report({ kind: "stepped", index: 1, metrics: { loss: 1 }, secondsLeft: 0 });
      await report({ kind: "entered", phase: "publishing" });
      await look();
      return outcome;
    },
  ]);
  await bench.submit(queue, "j");
  assert.deepEqual(seen, [
    [undefined, undefined, undefined, undefined, null],
    ["preparing", 4, 0, 0, 20],
    ["preparing", 8, 0, 0, null],
    ["training", 8, 1, 0, 30],
    ["training", 8, 1, 1, 30],
    ["publishing", 8, 2, 1, 0],
  ]);
});

test("continues a job that prepares more in each attempt, however often its process dies", async (t) => {
  const bench = await Bench.open(t);
  const upTo =
    (count: number): Run =>
    async (_assignment, report) => {
      await report({ kind: "prepared", count, total: 900, secondsLeft: 9 });
      throw new ServiceError({ code: "unavailable", message: "The process died." });
    };
  const queue = await bench.start([100, 200, 300, 400, 400, 350, 500].map(upTo), {
    attemptsMax: 2,
    backoffMs: 10,
  });
  await bench.submit(queue, "j");
  await bench.clock.advance(60_000);
  const job = await bench.database.jobs.find("j");
  assert.deepEqual([job?.state, job?.attemptCount], ["failed", 6]);
});

test("emits one event for each tenth of a long preparation, across attempts", async (t) => {
  const bench = await Bench.open(t);
  const prepare = async (report: JobReport, from: number, to: number): Promise<void> => {
    for (let count = from; count <= to; count += 100)
      await report({ kind: "prepared", count, total: 2000, secondsLeft: 2000 - count });
  };
  const queue = await bench.start([
    async (_assignment, report) => {
      await prepare(report, 100, 900);
      throw new ServiceError({ code: "unavailable", message: "The process died." });
    },
    async (_assignment, report) => {
      await prepare(report, 700, 2000);
      await report({ kind: "started", stepCount: 0, counts, metrics: startedEvent });
      return outcome;
    },
    async (_assignment, report) => {
      await report({ kind: "prepared", count: 999, total: 999, secondsLeft: 0 });
      await report({ kind: "started", stepCount: 0, counts, metrics: startedEvent });
      return outcome;
    },
  ]);
  await bench.submit(queue, "many");
  await bench.clock.advance(1000);
  const tenths = Array.from({ length: 10 }, (_, index) => 200 * (index + 1));
  const preparing = tenths.map((count) => [
    "preparing",
    { num_prepared: count, num_to_prepare: 2000, seconds_left: 2000 - count },
  ]);
  const rest = (step: number): unknown[] => [
    ["training_started", startedEvent],
    ["training_ended", { loss: 0.5, step }],
  ];
  assert.deepEqual(await bench.events("many"), [...preparing, ...rest(1)]);
  await bench.submit(queue, "few");
  assert.deepEqual(await bench.events("few"), rest(2));
});

/** Fails because of the machine's current state, not because of the job. */
const obstructed: Run = async () => {
  throw new ServiceError({ code: "unavailable", message: "The disk is full.", obstacle: "full-disk" });
};

test("makes a job wait longer each time the machine cannot run it, says why, and spends no attempt", async (t) => {
  const bench = await Bench.open(t);
  const runs = [obstructed, obstructed, obstructed, obstructed, twoSteps];
  const queue = await bench.start(runs, {
    attemptsMax: 1,
    startsMax: 1,
    backoffMs: 2000,
    backoffMsMax: 8000,
  });
  await bench.submit(queue, "a");
  for (const waitMs of [2000, 4000, 8000, 8000]) {
    const { state, attemptCount, waitingFor } = present(await bench.database.jobs.find("a"), "the job");
    assert.deepEqual([state, attemptCount, waitingFor], ["queued", 0, "The disk is full."]);
    await bench.clock.advance(waitMs - 1);
    assert.equal((await bench.database.jobs.find("a"))?.waitingFor, "The disk is full.");
    await bench.clock.advance(1);
  }
  await bench.clock.advance(1000);
  const job = await bench.database.jobs.find("a");
  assert.deepEqual([job?.state, job?.attemptCount, job?.waitingFor], ["succeeded", 1, null]);
});

test("makes a job wait for a missing base model without an attempt, says why, and runs it once available", async (t) => {
  const bench = await Bench.open(t);
  const { jobs } = bench.database;
  await bench.renewServer(["other"]);
  await bench.submit(bench.build(twoSteps), "early");
  const claimed: unknown[] = [];
  const claim: JobStore["claim"] = async (...args) => {
    const job = await jobs.claim(...args);
    claimed.push(job);
    return job;
  };
  const queue = bench.build(twoSteps, { backoffMs: 1000 }, { ...jobs, claim });
  await queue.start();
  await bench.submit(queue, "late", "n");
  for (let minute = 0; minute < 5; minute++) await bench.clock.advance(60_000);
  for (const id of ["early", "late"]) {
    const { state, waitingFor, startedAt, attemptCount } = present(await jobs.find(id), "the job");
    assert.deepEqual([state, startedAt, attemptCount], ["queued", null, 0]);
    assert.match(waitingFor ?? "", /base model "tiny" is not served/);
  }
  assert.ok(claimed.length > 60 && claimed.every((job) => job === null), "none was taken, not for a moment");
  await queue.stop();
  await bench.renewServer(["other", "tiny"]);
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  assert.deepEqual([await bench.state("early"), await bench.state("late")], ["succeeded", "succeeded"]);
  assert.equal((await jobs.find("late"))?.waitingFor, null);
});

test("retries a waiting job immediately when a server starts", async (t) => {
  const bench = await Bench.open(t);
  const first = await bench.start([obstructed], { backoffMs: 60_000 });
  await bench.submit(first, "a");
  await first.stop();
  await bench.renewServer();
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "succeeded");
});

test("repeats an attempt whose outcome cannot be stored, on the same server while it has its lease", async (t) => {
  const bench = await Bench.open(t);
  const { jobs } = bench.database;
  let faultCount = 2;
  const succeed: JobStore["succeed"] = async (...args) => {
    if (faultCount-- > 0) throw new Error("no answer");
    await jobs.succeed(...args);
  };
  const queue = bench.build(twoSteps, {}, { ...jobs, succeed });
  await queue.start();
  await bench.submit(queue, "a");
  assert.equal(await bench.state("a"), "running");
  for (let second = 0; second < 31; second++) await bench.clock.advance(1000);
  const job = await jobs.find("a");
  assert.deepEqual([job?.state, job?.restartCount, job?.attemptCount], ["succeeded", 2, 3]);
});

test("recovers a job that was claimed without the server getting the answer", async (t) => {
  const bench = await Bench.open(t);
  const { jobs } = bench.database;
  let isFirst = true;
  const claim: JobStore["claim"] = async (...args) => {
    const job = await jobs.claim(...args);
    if (!isFirst || job === null) return job;
    isFirst = false;
    throw new Error("no answer");
  };
  const queue = bench.build(twoSteps, {}, { ...jobs, claim });
  await queue.start();
  await bench.submit(queue, "a");
  assert.equal(await bench.state("a"), "running");
  await bench.clock.advance(15_000);
  assert.equal(await bench.state("a"), "succeeded");
});

test("stores an outcome once a full disk has room", async (t) => {
  const bench = await Bench.open(t);
  let fullCount = 3;
  const { jobs } = bench.database;
  const succeed: JobStore["succeed"] = async (...args) => {
    if (fullCount-- > 0) await obstructed(...([] as unknown as Parameters<Run>));
    await jobs.succeed(...args);
  };
  const queue = bench.build(twoSteps, { backoffMs: 1000 }, { ...jobs, succeed });
  await queue.start();
  await bench.submit(queue, "a");
  await bench.clock.advance(2999);
  assert.equal(await bench.state("a"), "running");
  await bench.clock.advance(4001);
  const job = await jobs.find("a");
  assert.deepEqual([job?.state, job?.attemptCount], ["succeeded", 1]);
});

test("continues retries and parked jobs when the clock steps back or forward", async (t) => {
  for (const stepMs of [-86_400_000, 86_400_000]) {
    const bench = await Bench.open(t);
    const queue = await bench.start([lost, untilInterrupted], { backoffMs: 1000 });
    await bench.submit(queue, "a");
    bench.clock.step(stepMs);
    await bench.clock.advance(1000);
    assert.equal(await bench.state("a"), "running");
    await queue.stop();
    bench.clock.step(stepMs);
    await bench.start([twoSteps]);
    await bench.clock.advance(0);
    assert.equal(await bench.state("a"), "succeeded");
  }
});

test("reports why the queue cannot claim jobs, without internals, and continues once it can", async (t) => {
  const bench = await Bench.open(t);
  const { jobs } = bench.database;
  const faults = [
    new Error("at /secret/path"),
    new ServiceError({ code: "unavailable", message: "It is locked." }),
  ];
  const claim: JobStore["claim"] = async (...args) => {
    const fault = faults.shift();
    if (fault !== undefined) throw fault;
    return jobs.claim(...args);
  };
  const queue = bench.build(twoSteps, { pollMs: 1000 }, { ...jobs, claim });
  await bench.submit(bench.build(twoSteps), "a");
  await queue.start();
  await bench.clock.advance(0);
  assert.equal(queue.status().claimFault, "The server's log says why.");
  await bench.clock.advance(1000);
  assert.equal(queue.status().claimFault, "It is locked.");
  await bench.clock.advance(1000);
  assert.deepEqual([queue.status().claimFault, await bench.state("a")], [null, "succeeded"]);
});

// Attempts at a job: what is tried again, what waits for the machine, and what is said and kept meanwhile.
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

test("a lost attempt is tried again after a growing wait, and repeats no event", async (t) => {
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

test("a job is given up after its last attempt, and says why", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([lost], { pollMs: 10_000 });
  await bench.submit(queue, "a");
  for (let minute = 0; minute < 20; minute++) await bench.clock.advance(60_000);
  const message =
    "The job was given up after 20 attempts that were lost, the last one so: The training process died.";
  assert.equal(await bench.state("a"), "failed");
  assert.equal(await bench.message("a"), message);
  assert.deepEqual(await bench.events("a"), [["training_failed", { error_message: message }]]);
});

test("a job whose attempts are lost goes on for as long as each keeps further steps", async (t) => {
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

test("an attempt that fails when another server has made the job's version leaves that alone", async (t) => {
  const bench = await Bench.open(t);
  let goOn = (): void => undefined;
  const isOver = new Promise<void>((resolve) => (goOn = resolve));
  const queue = await bench.start([
    async (_assignment, report) => {
      await report({ kind: "started", stepCount: 1, counts, metrics: startedEvent });
      // The other's run comes in between.
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

test("a job says what it is about, how far it is, what of that is kept, and when it ends", async (t) => {
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

test("a job that prepares more in each attempt goes on, however often its process dies", async (t) => {
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

test("of much that is prepared every tenth is an event, once, whichever attempt gets there", async (t) => {
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

/** Meets an obstacle of the machine. */
const obstructed: Run = async () => {
  throw new ServiceError({ code: "unavailable", message: "The disk is full.", obstacle: "full-disk" });
};

test("a job that the machine cannot run waits, longer each time, says so, and spends no attempt", async (t) => {
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

test("a job whose base model is missing waits without being tried, says so, and runs when it is there", async (t) => {
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

test("a job that waits is tried at once by a server that starts", async (t) => {
  const bench = await Bench.open(t);
  const first = await bench.start([obstructed], { backoffMs: 60_000 });
  await bench.submit(first, "a");
  await first.stop();
  await bench.renewServer();
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "succeeded");
});

test("an attempt whose end cannot be written is made again, by the server that still has its lease", async (t) => {
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

test("a job that was claimed without this server hearing of it is not lost", async (t) => {
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

test("an ending that finds the disk full is written when there is room", async (t) => {
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

test("retries and parked jobs go on when the clock steps back, and when it steps forward", async (t) => {
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

test("a queue that can take up no job says why, without what is internal, and goes on when it can", async (t) => {
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

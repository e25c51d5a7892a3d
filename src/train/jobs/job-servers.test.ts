// Tests what happens to jobs when servers stop, die or lose their lease.
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import type { JobStore } from "../../base/domain/job.ts";
import type { ServerStore } from "../../base/domain/servers/server-store.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { rescueNow, storeServer } from "../../store/database/contract/storage-under-test.ts";
import { ServerLease } from "./server-lease.ts";
import { jobSettings } from "./settings.ts";
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

/** Wraps the store of a process that can die. After `die`, all calls of the store fail. */
function mortal<Store extends object>(of: Store): { readonly store: Store; readonly die: () => void } {
  let isDead = false;
  const call = async (name: keyof Store, args: readonly unknown[]): Promise<unknown> => {
    if (isDead) throw new Error("the process is dead");
    // Safe cast: `name` and `args` come from one call of the wrapped method, so the arguments fit.
    return await (of[name] as (...args: readonly unknown[]) => Promise<unknown>)(...args);
  };
  const store = new Proxy(of, {
    get:
      (_target, name) =>
      (...args: readonly unknown[]) =>
        call(name as keyof Store, args),
  });
  return { store, die: () => void (isDead = true) };
}

test("parks a running job on stop without spending its attempt, and ends it in the next queue", async (t) => {
  const bench = await Bench.open(t);
  const first = await bench.start([untilInterrupted]);
  await bench.submit(first, "a");
  await first.stop();
  await first.stop();
  const parked = await bench.database.jobs.find("a");
  assert.deepEqual([parked?.state, parked?.attemptCount], ["queued", 0]);
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  assert.deepEqual(await bench.events("a"), [
    ["training_started", startedEvent],
    ["gradient_step", { loss: 1 }],
    ["gradient_step", { loss: 0.7 }],
    ["training_ended", { loss: 0.5, step: 1 }],
  ]);
});

test("lets a job succeed that finished despite being parked", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([
    async (_assignment, _report, { signal }) => {
      await once(signal, "abort");
      return outcome;
    },
  ]);
  await bench.submit(queue, "a");
  await queue.stop();
  assert.equal(await bench.state("a"), "succeeded");
});

test("resumes a crashed server's running job immediately on the next server", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  await bench.claimAndDie();
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "succeeded");
});

test("takes no running job of another server, unless that one falls silent", async (t) => {
  const bench = await Bench.open(t);
  const { jobs, servers, models } = bench.database;
  const logger = silentLogger;
  const startServer = async (store: JobStore, leases: ServerStore, run: Run) => {
    const lease = new ServerLease(
      { servers: leases, baseModels: ["tiny"], artifacts: "shared", clock: bench.clock, logger },
      jobSettings.with(),
    );
    t.after(() => lease.stop());
    await lease.start();
    const queue = bench.build(run, { pollMs: 10_000 }, store, lease);
    await queue.start();
    return queue;
  };
  const [dying, dyingLeases] = [mortal(jobs), mortal(servers)];
  const first = await startServer(dying.store, dyingLeases.store, untilInterrupted);
  await bench.submit(first, "a");
  const second = await startServer(jobs, servers, twoSteps);
  for (let minute = 0; minute < 10; minute++) await bench.clock.advance(60_000);
  assert.deepEqual([await bench.state("a"), first.status().runningCount], ["running", 1]);
  await bench.submit(second, "b", "n");
  assert.equal(await bench.state("b"), "succeeded");
  dying.die();
  dyingLeases.die();
  await bench.clock.advance(45_000);
  assert.equal(await bench.state("a"), "running");
  await bench.clock.advance(45_000);
  assert.equal(await bench.state("a"), "succeeded");
  assert.equal(await models.greatestStep("m"), 1);
});

test("stops restarting a job that kills every server", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  for (let start = 0; start < 2; start++) {
    await bench.claimAndDie();
    await rescueNow(bench.database.jobs);
  }
  await bench.start([twoSteps], { startsMax: 2 });
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "failed");
  assert.match(await bench.message("a"), /2 servers died in a row/);
});

test("continues a job while each server that dies saved a further step of it", async (t) => {
  const bench = await Bench.open(t);
  const savesOneMore: Run = async ({ job }, report, { signal }) => {
    const savedCount = job.progress?.savedStepCount ?? 0;
    await report({ kind: "started", stepCount: 9, counts, metrics: startedEvent });
    await report({ kind: "saved", stepCount: savedCount });
    if (savedCount < 5) await report({ kind: "saved", stepCount: savedCount + 1 });
    await once(signal, "abort");
    throw new ServiceError({ code: "cancelled", message: "interrupted" });
  };
  await bench.submit(bench.build(twoSteps), "a");
  for (let server = 0; server < 7; server++) {
    const { store, die } = mortal(bench.database.jobs);
    const queue = bench.build(savesOneMore, { startsMax: 2 }, store);
    await queue.start();
    await bench.clock.advance(0);
    die();
    await queue.stop();
    assert.equal(await bench.state("a"), "running");
    await bench.renewServer();
  }
  await bench.start([twoSteps], { startsMax: 2 });
  await bench.clock.advance(1000);
  assert.equal(await bench.state("a"), "failed");
  assert.match(await bench.message("a"), /2 servers died in a row .* no further step was saved/);
});

test("limits attempts lost with their process and with their server separately", async (t) => {
  const bench = await Bench.open(t);
  const settings = { attemptsMax: 2, startsMax: 3, backoffMs: 1000 };
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  for (let server = 0; server < 2; server++) {
    await bench.claimAndDie();
    await rescueNow(bench.database.jobs);
  }
  await bench.start([lost, twoSteps], settings);
  await bench.clock.advance(1000);
  const job = await bench.database.jobs.find("a");
  assert.deepEqual([job?.state, job?.lostCount, job?.restartCount], ["succeeded", 1, 2]);
});

test("interrupts an attempt that lost its job, which then writes nothing", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted]);
  await bench.submit(queue, "a");
  await bench.renewServer();
  await rescueNow(bench.database.jobs);
  await storeServer(bench.database.servers, "another");
  await bench.database.jobs.claim("another", bench.clock.now());
  await bench.clock.advance(15_000);
  assert.equal(queue.status().runningCount, 0);
  assert.notEqual(await bench.database.jobs.findRunning("a", "another"), null);
});

test("ends an attempt before its own queue starts another at the same job", async (t) => {
  const bench = await Bench.open(t);
  const order: string[] = [];
  const first: Run = async (...args) => {
    try {
      return await untilInterrupted(...args);
    } finally {
      order.push("first over");
    }
  };
  const second: Run = (...args) => {
    order.push("second begins");
    return twoSteps(...args);
  };
  const queue = await bench.start([first, second], { concurrency: 2, pollMs: 1000 });
  await bench.submit(queue, "a");
  await bench.renewServer();
  await rescueNow(bench.database.jobs);
  await bench.clock.advance(1000);
  assert.deepEqual(order, ["first over", "second begins"]);
  assert.equal(await bench.state("a"), "succeeded");
  assert.equal(queue.status().runningCount, 0);
});

test("interrupts a job immediately when another server announces its cancellation, and no other", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted], { concurrency: 2 });
  await bench.submit(queue, "a");
  await bench.submit(queue, "b", "n");
  await bench.database.jobs.requestCancel("a", bench.clock.now());
  await bench.clock.advance(0);
  assert.deepEqual([await bench.state("a"), await bench.state("b")], ["cancelled", "running"]);
});

test("publishes nothing from an attempt that lost its job to another server without noticing", async (t) => {
  const bench = await Bench.open(t);
  const published: string[] = [];
  await bench.start([
    async (_assignment, report) => {
      await report({ kind: "started", stepCount: 1, counts, metrics: startedEvent });
      await bench.renewServer();
      await rescueNow(bench.database.jobs);
      await report({ kind: "entered", phase: "publishing" });
      published.push("late");
      return outcome;
    },
    twoSteps,
  ]);
  await bench.submit(bench.build(twoSteps), "a");
  await bench.clock.advance(1000);
  assert.deepEqual(published, []);
  assert.equal(await bench.state("a"), "succeeded");
});

test("runs a job immediately when another server announces it", async (t) => {
  const bench = await Bench.open(t);
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  const other = bench.build(twoSteps);
  await bench.submit(other, "a");
  assert.equal(await bench.state("a"), "succeeded");
});

test("completes a job whose process dies every second for ten minutes", async (t) => {
  const bench = await Bench.open(t);
  const run: Run = async (...attempt) =>
    bench.clock.monotonicMs() < 600_000 ? lost(...attempt) : twoSteps(...attempt);
  const queue = await bench.start([run], { pollMs: 5000 });
  await bench.submit(queue, "a");
  for (let count = 0; count < 140; count++) await bench.clock.advance(5000);
  assert.equal(await bench.state("a"), "succeeded");
});

test("retries a job with growing waits while its server keeps dying, and completes it", async (t) => {
  const bench = await Bench.open(t);
  await bench.submit(bench.build(twoSteps), "a");
  // Starts a server every five seconds for ten minutes; each one dies immediately.
  for (let count = 0; count < 120; count++) {
    const { store, die } = mortal(bench.database.jobs);
    const queue = bench.build(untilInterrupted, {}, store);
    await queue.start();
    await bench.clock.advance(0);
    die();
    await queue.stop();
    await bench.renewServer();
    await bench.clock.advance(5000);
  }
  await bench.start([twoSteps]);
  for (let second = 0; second < 60; second++) await bench.clock.advance(1000);
  assert.equal(await bench.state("a"), "succeeded");
});

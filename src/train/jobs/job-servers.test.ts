// Jobs of servers that stop, die or lose their lease.
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

/** The store as a process sees it until it dies: from then on nothing reaches it. */
function mortal<Store extends object>(of: Store): { readonly store: Store; readonly die: () => void } {
  let isDead = false;
  const call = async (name: keyof Store, args: readonly unknown[]): Promise<unknown> => {
    if (isDead) throw new Error("the process is dead");
    // Every method of the interface takes what it was called with.
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

test("stopping parks a running job without spending its attempt, and the next queue ends it", async (t) => {
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

test("a job that was done in spite of being parked succeeds", async (t) => {
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

test("what a crashed server left running is taken up at once by the next", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  await bench.claimAndDie();
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  assert.equal(await bench.state("a"), "succeeded");
});

test("a second server that starts takes nothing that the first runs, and has it when that is not heard from", async (t) => {
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

test("a job that ends every server is not started for ever", async (t) => {
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
  assert.match(await bench.message("a"), /started 2 times/);
});

test("a job goes on for as long as each server that dies kept a further step of it", async (t) => {
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
  assert.match(await bench.message("a"), /started 2 times .* kept no further step/);
});

test("attempts lost with their process and with their server have limits of their own", async (t) => {
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

test("an attempt that lost its job is interrupted and writes nothing", async (t) => {
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

test("an attempt whose job is taken anew by its own queue ends before the new one begins", async (t) => {
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

test("a cancel that another server announces interrupts its job at once, and no other", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted], { concurrency: 2 });
  await bench.submit(queue, "a");
  await bench.submit(queue, "b", "n");
  await bench.database.jobs.requestCancel("a", bench.clock.now());
  await bench.clock.advance(0);
  assert.deepEqual([await bench.state("a"), await bench.state("b")], ["cancelled", "running"]);
});

test("an attempt that lost its job to another server, and has not heard of it, publishes nothing", async (t) => {
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

test("a job that another server queues and announces is run at once", async (t) => {
  const bench = await Bench.open(t);
  await bench.start([twoSteps]);
  await bench.clock.advance(0);
  const other = bench.build(twoSteps);
  await bench.submit(other, "a");
  assert.equal(await bench.state("a"), "succeeded");
});

test("a job whose process dies each second for ten minutes ends well when that is over", async (t) => {
  const bench = await Bench.open(t);
  const run: Run = async (...attempt) =>
    bench.clock.monotonicMs() < 600_000 ? lost(...attempt) : twoSteps(...attempt);
  const queue = await bench.start([run], { pollMs: 5000 });
  await bench.submit(queue, "a");
  for (let count = 0; count < 140; count++) await bench.clock.advance(5000);
  assert.equal(await bench.state("a"), "succeeded");
});

test("a job whose server dies again and again is tried later and later, and ends well", async (t) => {
  const bench = await Bench.open(t);
  await bench.submit(bench.build(twoSteps), "a");
  // A server every five seconds for ten minutes, each of which dies at once.
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

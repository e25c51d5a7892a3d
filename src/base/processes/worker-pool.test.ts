import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { fullDiskError } from "../domain/transient-errors/full-disk.ts";
import { TaskTimeout } from "./worker-thread.ts";
import { WorkerPool, type TaskOptions, type WorkerPoolOptions } from "./worker-pool.ts";
import type { SmallTask, SmallTasks } from "./testing/small-tasks.ts";

const module = new URL("./testing/small-tasks.js", import.meta.url);

type Pool = WorkerPool<SmallTasks, unknown>;

/** Returns a pool with one worker, which is closed after the test. */
function pool(context: TestContext, changes: Partial<WorkerPoolOptions> = {}): Pool {
  const workers = new WorkerPool<SmallTasks, unknown>({
    module,
    workerCount: 1,
    stageMs: [60_000],
    memoryMebibytes: 64,
    ...changes,
  });
  context.after(() => workers.close());
  return workers;
}

/** Returns options for a queue of this length, by default with a timeout that the tests never reach. */
const line = (lengthMax: number, waitMs = 60_000): WorkerPoolOptions["line"] => ({
  lengthMax,
  waitMs,
});

const run = (workers: Pool, task: SmallTask, options?: TaskOptions): Promise<unknown> =>
  workers.run("do", task, options);

interface Gate {
  readonly task: SmallTask;
  readonly open: () => void;
  /** Blocks this thread until the task is just about to answer. */
  readonly waitUntilPassed: () => void;
}

/** Returns a task that blocks its worker until the test opens a gate. */
function gate(): Gate {
  const numbers = new Int32Array(new SharedArrayBuffer(8));
  return {
    task: { kind: "wait", gate: numbers },
    open: () => {
      Atomics.store(numbers, 0, 1);
      Atomics.notify(numbers, 0);
    },
    waitUntilPassed: () => void Atomics.wait(numbers, 1, 0),
  };
}

test("answers tasks in order, with results and refusals", async (context) => {
  const workers = pool(context);
  const answers = [1, 2, 3].map((value) => run(workers, { kind: "double", value }));
  assert.deepEqual(await Promise.all(answers), [2, 4, 6]);
  await assert.rejects(run(workers, { kind: "refuse" }), {
    name: "ServiceError",
    code: "conflict",
    message: "no",
    faults: [{ location: ["body"], message: "no", type: "t" }],
  });
  await assert.rejects(run(workers, { kind: "throw" }), { name: "TypeError", message: "a bug" });
  const bytes = new Uint8Array(8);
  assert.equal(await run(workers, { kind: "count", bytes }, { transfer: [bytes.buffer] }), 8);
  assert.equal(bytes.length, 0, "handed over");
  assert.deepEqual(await run(workers, { kind: "give" }), { some: [{ bytes: new Uint8Array(8) }] });
  assert.equal(await run(workers, { kind: "own" }), 0, "handed over");
});

test("keeps the message, codes and causes of an error from threads and processes", async (context) => {
  for (const isProcess of [false, true]) {
    const workers = pool(context, { isProcess });
    await assert.rejects(run(workers, { kind: "full-disk" }), (error: Error) => {
      assert.equal(error.message, "nothing was written");
      assert.match(error.stack ?? "", /small-tasks/);
      assert.deepEqual(fullDiskError(error)?.obstacle, "full-disk");
      return true;
    });
    await assert.rejects(run(workers, { kind: "refuse-for-now" }), {
      name: "ServiceError",
      code: "unavailable",
      message: "later",
      retryAfterSeconds: 7,
      obstacle: "missing-base",
    });
  }
});

test("gives a worker the pool's data, also if it was started before its first task", async (context) => {
  const workers = pool(context, { data: { some: "data" } });
  workers.prepare();
  assert.deepEqual(await run(workers, { kind: "data" }), { some: "data" });
});

test("ends idle workers in pools that say so", async (context) => {
  const thread = { kind: "thread" } as const;
  for (const endsWhenIdle of [false, true]) {
    const workers = pool(context, { endsWhenIdle });
    const [first, second] = await Promise.all([run(workers, thread), run(workers, thread)]);
    assert.equal(second, first);
    assert.equal((await run(workers, thread)) === first, !endsWhenIdle);
  }
});

test("replaces a worker that exceeds its memory or time, or ends, and refuses its task", async (context) => {
  const small = pool(context, { stageMs: [60_000], memoryMebibytes: 16 });
  await assert.rejects(run(small, { kind: "fill" }), { code: "too_large" });
  assert.equal(await run(small, { kind: "double", value: 1 }), 2);
  const workers = pool(context, { stageMs: [500] });
  const hung = run(workers, { kind: "hang", stage: 0 });
  const next = run(workers, { kind: "double", value: 2 });
  await assert.rejects(hung, { code: "timeout" });
  assert.equal(await next, 4);
  await assert.rejects(run(workers, { kind: "exit" }), /ended with 7/);
  assert.equal(await run(workers, { kind: "double", value: 3 }), 6);
});

test("limits the time of each stage of a task, and names the stage that exceeded it", async (context) => {
  const workers = pool(context, { stageMs: [60_000, 100, 60_000] });
  await assert.rejects(
    run(workers, { kind: "hang", stage: 1 }),
    (error) => error instanceof TaskTimeout && error.stage === 1,
  );
});

test("accepts an answer that arrived by the deadline", async (context) => {
  const workers = pool(context, { stageMs: [200] });
  await run(workers, { kind: "double", value: 1 });
  const { task, open, waitUntilPassed } = gate();
  const held = run(workers, task);
  open();
  waitUntilPassed();
  // Blocks this thread until the time limit of the task has passed.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250);
  assert.equal(await held, "opened");
});

test("takes clients in turns at a worker", async (context) => {
  const workers = pool(context);
  const { task, open } = gate();
  const held = run(workers, task);
  const order: string[] = [];
  const later = ["a", "a", "a", "b"].map(async (client, index) => {
    await run(workers, { kind: "double", value: index }, { client });
    order.push(`${client}${index}`);
  });
  open();
  await Promise.all([held, ...later]);
  assert.deepEqual(order, ["a0", "b3", "a1", "a2"]);
});

test("limits the number of waiting tasks", async (context) => {
  const workers = pool(context, { line: line(1) });
  const { task, open } = gate();
  const held = run(workers, task);
  const next = run(workers, { kind: "double", value: 1 });
  assert.equal(workers.waitingCount, 1);
  await assert.rejects(run(workers, { kind: "double", value: 2 }), {
    code: "overloaded",
    message: /the maximum;/,
  });
  open();
  assert.equal(await next, 2);
  await held;
});

test("gives a client half of the places that others leave", async (context) => {
  const workers = pool(context, { line: line(4) });
  const { task, open } = gate();
  const held = run(workers, task);
  const double = (client: string) => run(workers, { kind: "double", value: 1 }, { client });
  const waiting = [double("a"), double("a")];
  await assert.rejects(double("a"), { code: "overloaded", message: /2 of your requests already wait/ });
  waiting.push(double("b"));
  open();
  assert.deepEqual(await Promise.all(waiting), [2, 2, 2]);
  await held;
  assert.equal(await double("a"), 2);
});

test("times out waiting tasks, but not running ones", async (context) => {
  const workers = pool(context, { line: line(1, 20) });
  const { task, open } = gate();
  const held = run(workers, task);
  await assert.rejects(run(workers, { kind: "double", value: 1 }), {
    code: "overloaded",
    message: /waited for 0\.\d+ s without being started/,
  });
  assert.equal(workers.waitingCount, 0);
  open();
  await held;
});

test("frees the place of a task whose signal aborts, and stops waiting for it", async (context) => {
  const workers = pool(context, { line: line(1) });
  const { task, open } = gate();
  const aborter = new AbortController();
  const { signal } = aborter;
  const held = run(workers, task, { signal });
  const waiting = run(workers, { kind: "double", value: 1 }, { signal });
  aborter.abort();
  await assert.rejects(held, { code: "cancelled" });
  await assert.rejects(waiting, { code: "cancelled" });
  const next = run(workers, { kind: "double", value: 2 });
  assert.equal(workers.waitingCount, 1);
  open();
  assert.equal(await next, 4);
  await assert.rejects(run(workers, { kind: "double", value: 1 }, { signal }), { code: "cancelled" });
});

test("treats processes like threads: results, refusals, stages, and limits", async (context) => {
  const workers = pool(context, {
    isProcess: true,
    data: "a folder",
    stageMs: [60_000, 200],
    memoryMebibytes: 48,
  });
  workers.prepare();
  assert.equal(await run(workers, { kind: "data" }), "a folder");
  assert.equal(await run(workers, { kind: "double", value: 1 }), 2);
  await assert.rejects(run(workers, { kind: "refuse" }), { name: "ServiceError", code: "conflict" });
  await assert.rejects(run(workers, { kind: "throw" }), { message: "a bug" });
  await assert.rejects(
    run(workers, { kind: "hang", stage: 1 }),
    (error) => error instanceof TaskTimeout && error.stage === 1,
  );
  await assert.rejects(run(workers, { kind: "fill" }), { code: "too_large" });
  await assert.rejects(run(workers, { kind: "exit" }), /ended with 7/);
  assert.equal(await run(workers, { kind: "double", value: 2 }), 4);
  const hung = run(workers, { kind: "hang", stage: 0 });
  hung.catch(() => undefined);
  await workers.close();
  await assert.rejects(hung, { code: "unavailable" });
});

test("fails running and waiting tasks when it closes", async (context) => {
  const workers = pool(context);
  const tasks = [run(workers, { kind: "hang", stage: 0 }), run(workers, { kind: "double", value: 1 })];
  const outcomes = Promise.allSettled(tasks);
  await workers.close();
  for (const outcome of await outcomes) {
    assert.ok(outcome.status === "rejected");
    assert.equal((outcome.reason as { code: string }).code, "unavailable");
  }
  await assert.rejects(run(workers, { kind: "double", value: 1 }), { code: "unavailable" });
});

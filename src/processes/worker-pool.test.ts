import assert from "node:assert/strict";
import { test } from "node:test";
import { createWorkerPool, type WorkerPool } from "./worker-pool.ts";
import type { SmallTask } from "./testing/small-worker.ts";

const module = new URL("./testing/small-worker.js", import.meta.url);

function pool(changes: { readonly timeoutMs?: number; readonly memoryMebibytes?: number } = {}): WorkerPool {
  return createWorkerPool({ module, workerCount: 1, timeoutMs: 60_000, memoryMebibytes: 64, ...changes });
}

const run = (workers: WorkerPool, task: SmallTask): Promise<unknown> => workers.run(task);

test("answers tasks in order, with results and refusals", async () => {
  const workers = pool();
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
  assert.equal(await workers.run({ kind: "count", bytes } satisfies SmallTask, [bytes.buffer]), 8);
  assert.equal(bytes.length, 0, "handed over");
  await workers.close();
});

test("a worker that takes too much memory or time is replaced, and its task refused", async () => {
  const workers = pool({ timeoutMs: 500, memoryMebibytes: 16 });
  await assert.rejects(run(workers, { kind: "fill" }), { code: "too_large" });
  assert.equal(await run(workers, { kind: "double", value: 1 }), 2);
  const hung = run(workers, { kind: "hang" });
  const next = run(workers, { kind: "double", value: 2 });
  await assert.rejects(hung, { code: "timeout" });
  assert.equal(await next, 4);
  await workers.close();
});

test("closing fails what runs and what waits", async () => {
  const workers = pool();
  const tasks = [run(workers, { kind: "hang" }), run(workers, { kind: "double", value: 1 })];
  const outcomes = Promise.allSettled(tasks);
  await workers.close();
  for (const outcome of await outcomes) {
    assert.ok(outcome.status === "rejected");
    assert.equal((outcome.reason as { code: string }).code, "unavailable");
  }
  await assert.rejects(run(workers, { kind: "double", value: 1 }), { code: "unavailable" });
});

// Tests the streams of a job's events.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobEvent, JobStore } from "../../base/domain/job.ts";
import { counts, startedEvent, twoSteps, untilInterrupted, Bench } from "./testing/queue-bench.ts";

/** Reads a stream in the background into `events`. */
function collect(stream: AsyncIterable<JobEvent>): {
  readonly events: JobEvent[];
  readonly types: string[];
  readonly end: Promise<void>;
} {
  const events: JobEvent[] = [];
  const types: string[] = [];
  const end = (async () => {
    for await (const event of stream) {
      events.push(event);
      types.push(event.type);
    }
  })();
  return { events, types, end };
}

test("streams events as they occur, and ends after the last", async (t) => {
  const bench = await Bench.open(t);
  let proceed = (): void => undefined;
  const queue = await bench.start([
    async (assignment, report, options) => {
      await report({ kind: "started", stepCount: 2, counts, metrics: startedEvent });
      await new Promise<void>((resolve) => (proceed = resolve));
      return await twoSteps(assignment, report, options);
    },
  ]);
  await bench.submit(queue, "a");
  const { types, end } = collect(
    queue.watchEvents("a", { after: null, signal: new AbortController().signal }),
  );
  await bench.clock.advance(0);
  assert.deepEqual(types, ["training_started"]);
  assert.equal(queue.status().watcherCount, 1);
  proceed();
  await end;
  assert.deepEqual(types, ["training_started", "gradient_step", "gradient_step", "training_ended"]);
  assert.equal(queue.status().watcherCount, 0);
});

test("continues a stream after a given event, including the last", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([twoSteps]);
  await bench.submit(queue, "a");
  const { items } = await bench.database.jobs.listEvents("a", { after: null, limit: 100, order: "asc" });
  const { signal } = new AbortController();
  const fromSecond = collect(queue.watchEvents("a", { after: items[1].id, signal }));
  await fromSecond.end;
  assert.deepEqual(fromSecond.types, ["gradient_step", "training_ended"]);
  const fromLast = collect(queue.watchEvents("a", { after: items[3].id, signal }));
  await fromLast.end;
  assert.deepEqual(fromLast.types, []);
  await assert.rejects(collect(queue.watchEvents("a", { after: "0", signal })).end, { code: "invalid" });
  await assert.rejects(collect(queue.watchEvents("x", { after: null, signal })).end, { code: "not_found" });
});

test("finds events of another process without a notification", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  const { types, end } = collect(
    idle.watchEvents("a", { after: null, signal: new AbortController().signal }),
  );
  await bench.clock.advance(0);
  await bench.database.jobs.requestCancel("a", bench.clock.now());
  await bench.clock.advance(999);
  assert.deepEqual(types, []);
  await bench.clock.advance(1);
  await end;
  assert.deepEqual(types, ["training_failed"]);
});

test("ends the stream of a job deleted with its model with one last event, at any moment", async (t) => {
  for (const looksBetween of [true, false]) {
    const bench = await Bench.open(t);
    const queue = await bench.start([untilInterrupted]);
    await bench.submit(queue, "a");
    await bench.submit(queue, "b");
    const { signal } = new AbortController();
    const streams = ["a", "b"].map((id) => collect(queue.watchEvents(id, { after: null, signal })));
    await bench.clock.advance(0);
    const cancelling = queue.cancelAll("m");
    if (looksBetween) await bench.clock.advance(0);
    await cancelling;
    await bench.database.models.delete("m");
    await bench.clock.advance(1000);
    await Promise.all(streams.map(({ end }) => end));
    assert.deepEqual(
      streams.map(({ types }) => types),
      [["training_started", "gradient_step", "training_failed"], ["training_failed"]],
    );
    assert.equal(queue.status().watcherCount, 0);
  }
});

test("ends a stream once if its job ended and was deleted during a look", async (t) => {
  const bench = await Bench.open(t);
  const { jobs, models } = bench.database;
  const slow: JobStore = {
    ...jobs,
    listEvents: async (...args) => {
      await bench.clock.sleep(100);
      return await jobs.listEvents(...args);
    },
  };
  const idle = bench.build(twoSteps, {}, slow);
  await bench.submit(idle, "a");
  const { types, end } = collect(
    idle.watchEvents("a", { after: null, signal: new AbortController().signal }),
  );
  await bench.clock.advance(0);
  await jobs.requestCancel("a", bench.clock.now());
  await bench.clock.advance(100);
  await models.delete("m");
  await bench.clock.advance(1000);
  await end;
  assert.deepEqual(types, ["training_failed"]);
});

test("ends a stream whose job another process deleted, and says so", async (t) => {
  const bench = await Bench.open(t);
  const idle = bench.build(twoSteps);
  await bench.submit(idle, "a");
  const { events, end } = collect(
    idle.watchEvents("a", { after: null, signal: new AbortController().signal }),
  );
  await bench.clock.advance(0);
  await bench.database.models.delete("m");
  await bench.clock.advance(1000);
  await end;
  const data = { error_message: "The job was deleted, with its model." };
  assert.deepEqual(events, [{ id: "a:deleted", type: "training_failed", data }]);
});

test("ends a stream quietly when its reader leaves", async (t) => {
  const bench = await Bench.open(t);
  const queue = await bench.start([untilInterrupted]);
  await bench.submit(queue, "a");
  const reader = new AbortController();
  const { types, end } = collect(queue.watchEvents("a", { after: null, signal: reader.signal }));
  await bench.clock.advance(0);
  reader.abort();
  await end;
  assert.deepEqual(types, ["training_started", "gradient_step"]);
  assert.equal(queue.status().watcherCount, 0);
});

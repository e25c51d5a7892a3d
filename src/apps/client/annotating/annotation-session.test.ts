// Tests of annotation sessions against the server's real routes, with a fake clock.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../base/domain/clock.ts";
import { keys } from "../../../api/http/testing/fake-server.ts";
import { project, queueServer } from "../../../api/http/testing/queue-server.ts";
import { Hone } from "../hone.ts";
import { fetchFrom } from "../testing/fake-fetch.ts";
import { AnnotationSession } from "./annotation-session.ts";

/**
 * Creates a queue with one item, whose leases last 600 s. Returns the queue, a function that starts sessions, and a
 * function that lets time pass.
 */
async function queueOfOne() {
  const server = await queueServer();
  const path = await server.newQueue({}, 1);
  const hone = new Hone({
    baseUrl: "http://host",
    apiKey: keys.member,
    fetch: fetchFrom(server.server),
    retries: 0,
  });
  const name = { project_id: project, queue_id: path.split("/").at(-1) ?? "" };
  const begin = (annotator: string) => AnnotationSession.begin(hone.queues, name, { annotator });
  /** Advances the clock, and calls `keep` of each session as often as the session requires. */
  const pass = async (seconds: number, ...sessions: readonly AnnotationSession[]): Promise<void> => {
    const endMs = server.clock.monotonicMs() + seconds * 1000;
    while (server.clock.monotonicMs() < endMs) {
      const stepMs = Math.min(...sessions.map((one) => one.keepSeconds), seconds) * 1000;
      await server.clock.advance(stepMs);
      for (const session of sessions) await session.keep();
    }
  };
  return { server, hone, name, begin, pass };
}

const heldCall = ({ state }: AnnotationSession): string | undefined => state.held?.item.call_id;

test("renews the lease while an annotator takes long to answer", async () => {
  const { server, begin, pass } = await queueOfOne();
  const ann = await begin("ann");
  await pass(1500, ann);
  const bob = await begin("bob");
  assert.deepEqual([heldCall(ann), heldCall(bob)], ["1", undefined]);
  await ann.answer("kind");
  await pass(5, bob);
  assert.deepEqual([ann.state.answeredCount, bob.state.remaining], [1, { open: 0, held: 0 }]);
  await server.close();
});

test("gives an item with an expired lease to another annotator, and accepts a late answer", async () => {
  const { server, hone, name, begin, pass } = await queueOfOne();
  const ann = await begin("ann");
  const bob = await begin("bob");
  // Ann's session does not renew its lease, as if her computer were asleep.
  await pass(600, bob);
  assert.equal(heldCall(bob), "1");
  await bob.answer("rude");
  await ann.answer("kind");
  const said = await hone.feedback.query({ project_id: project }).all();
  assert.deepEqual(
    said.map(({ creator, payload }) => [creator, payload]),
    [
      ["bob", { value: "rude" }],
      ["ann", { value: "kind" }],
    ],
  );
  const [stats] = await hone.queues.stats({ project_id: project, queue_ids: [name.queue_id] });
  assert.equal(stats?.completed_items, 1);
  await server.close();
});

test("shows a released item to waiting annotators within seconds", async () => {
  const { server, begin, pass } = await queueOfOne();
  const ann = await begin("ann");
  const bob = await begin("bob");
  assert.deepEqual([heldCall(bob), bob.state.remaining], [undefined, { open: 1, held: 1 }]);
  await ann.leave();
  await pass(5, bob);
  assert.equal(heldCall(bob), "1");
  await server.close();
});

test("collects the required number of answers per item from four concurrent annotators over HTTP, one answer each", async (t) => {
  const server = await queueServer({}, systemClock);
  t.after(() => server.close());
  const baseUrl = await server.app.listen({ host: "127.0.0.1", port: 0 });
  const path = await server.newQueue({ annotators_per_item: 2 }, 9);
  const hone = new Hone({ baseUrl, apiKey: keys.member });
  const name = { project_id: project, queue_id: path.split("/").at(-1) ?? "" };
  const work = async (annotator: string, answer: string): Promise<void> => {
    const session = await AnnotationSession.begin(hone.queues, name, { annotator });
    while (session.state.held !== null) await session.answer(answer);
  };
  await Promise.all([work("ann", "kind"), work("bob", "kind"), work("cas", "rude"), work("dee", "kind")]);
  // In the first pass, an annotator who finds the last items leased stops early. The second pass gets items that were
  // released since.
  for (const annotator of ["ann", "bob", "cas", "dee"]) await work(annotator, "kind");
  for (const { annotations } of await hone.queues.items(name).all()) {
    assert.deepEqual(
      annotations.map((one) => one.annotation_state),
      ["completed", "completed"],
    );
    assert.equal(new Set(annotations.map((one) => one.annotator)).size, 2);
  }
  assert.equal((await hone.feedback.query({ project_id: project }).all()).length, 18);
  const [agreement] = await hone.queues.agreement(name);
  assert.equal(agreement?.items, 9);
});

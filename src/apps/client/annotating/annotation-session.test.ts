// An annotator's session against the real routes, with a clock that is set by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../base/domain/clock.ts";
import { keys } from "../../../api/http/testing/fake-server.ts";
import { project, queueServer } from "../../../api/http/testing/queue-server.ts";
import { Hone } from "../hone.ts";
import { fetchFrom } from "../testing/fake-fetch.ts";
import { AnnotationSession } from "./annotation-session.ts";

/** A queue of one item, and a way to begin sessions in it; what is claimed is held for 600 s. */
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
  /** Time passes, and whoever shows a session calls it as often as it wants. */
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

test("an item that somebody thinks about for long stays theirs", async () => {
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

test("an item whose time is over goes to others, and what was answered of it late is kept", async () => {
  const { server, hone, name, begin, pass } = await queueOfOne();
  const ann = await begin("ann");
  const bob = await begin("bob");
  // Nobody keeps it for ann, as on a computer that sleeps.
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

test("what others give back comes within seconds to whoever waits", async () => {
  const { server, begin, pass } = await queueOfOne();
  const ann = await begin("ann");
  const bob = await begin("bob");
  assert.deepEqual([heldCall(bob), bob.state.remaining], [undefined, { open: 1, held: 1 }]);
  await ann.leave();
  await pass(5, bob);
  assert.equal(heldCall(bob), "1");
  await server.close();
});

test("four annotators at once, over HTTP, give each item as many answers as it wants, one each", async (t) => {
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
  // Whoever came when others held the last items finds what they left.
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

import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { AdmissionQueue, type AdmissionRequest } from "./admission-queue.ts";

/**
 * Creates a queue for requests that are identified by names. Records which requests begin, in order, and the refusals
 * of the others.
 */
function setUp(sequenceCountMax: number) {
  const clock = new FakeClock();
  const queue = new AdmissionQueue<string>({ sequenceCountMax, waitMs: 1000, clock });
  const begun: string[] = [];
  const others: Record<string, string> = {};
  const leaves = new Map<string, () => void>();
  let arrival = 0;
  const ask = async (
    name: string,
    turn: Partial<AdmissionRequest<string>> = {},
    signal = new AbortController().signal,
  ) => {
    const usual = { owner: name[0], priority: 0, arrival: arrival++, slotCount: 1 };
    try {
      const { place, leave } = await queue.take(
        { ...usual, home: "x", mayUse: () => true, ...turn },
        { signal },
      );
      begun.push(place === "x" ? name : `${name} at ${place}`);
      leaves.set(name, () => {
        leave();
        queue.offer(place);
      });
    } catch (error) {
      others[name] = error instanceof ServiceError ? error.code : String(error);
    }
  };
  /** Resolves when all requests so far are either admitted or waiting. */
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const leave = async (name: string) => {
    leaves.get(name)?.();
    await settle();
  };
  const counts = () => {
    const { runningCount, runningSequences, waitingCount, waitingSequences } = queue.countsAt("x");
    return [runningCount, runningSequences, waitingCount, waitingSequences];
  };
  return { clock, queue, begun, others, ask, leave, settle, counts };
}

test("admits owners with less load first, and each owner's requests in order", async () => {
  const { queue, begun, ask, leave, settle, counts } = setUp(2);
  for (const name of ["a1", "a2", "a3", "a4", "b1", "b2"]) void ask(name);
  await settle();
  assert.deepEqual(begun, ["a1", "a2"]);
  assert.deepEqual([...counts(), queue.roomAt("x")], [2, 2, 4, 4, 0]);
  for (const name of ["a1", "b1", "a2", "b2", "a3", "a4"]) await leave(name);
  assert.deepEqual(begun, ["a1", "a2", "b1", "b2", "a3", "a4"]);
  assert.deepEqual([...counts(), queue.roomAt("x")], [0, 0, 0, 0, 2]);
});

test("admits a better priority first, regardless of load", async () => {
  const { begun, ask, leave, settle } = setUp(1);
  void ask("a1");
  void ask("b1", { priority: 1 });
  void ask("a2", { priority: -1 });
  void ask("a3", { priority: 1 });
  await settle();
  for (const name of ["a1", "a2", "b1", "a3"]) await leave(name);
  assert.deepEqual(begun, ["a1", "a2", "b1", "a3"]);
});

test("counts choices, and admits an oversized request by itself", async () => {
  const { queue, begun, ask, leave, settle } = setUp(4);
  void ask("a1", { slotCount: 3 });
  void ask("b1", { slotCount: 9 });
  // The request would fit, but must not overtake the request that is next in order.
  void ask("c1", { slotCount: 1, arrival: 5 });
  await settle();
  assert.deepEqual(begun, ["a1"]);
  await leave("a1");
  assert.deepEqual([begun, queue.roomAt("x")], [["a1", "b1"], 0]);
  await leave("b1");
  assert.deepEqual(begun, ["a1", "b1", "c1"]);
});

test("refuses a request that waits too long, and drops one whose client leaves", async () => {
  const { clock, others, ask, leave, settle, counts } = setUp(1);
  const going = new AbortController();
  void ask("a1");
  void ask("a2");
  void ask("a3", {}, going.signal);
  await settle();
  going.abort(new ServiceError({ code: "cancelled", message: "gone" }));
  await settle();
  assert.deepEqual(others, { a3: "cancelled" });
  await clock.advance(999);
  assert.deepEqual(counts(), [1, 1, 1, 1]);
  await clock.advance(1);
  await settle();
  assert.deepEqual(others, { a2: "overloaded", a3: "cancelled" });
  await leave("a1");
  assert.deepEqual(counts(), [0, 0, 0, 0]);
});

test("admits the owner with the least load anywhere, preferring requests whose home has room", async () => {
  const { queue, begun, ask, leave, settle } = setUp(1);
  void ask("a1");
  void ask("a2", { home: "y" });
  void ask("a3");
  void ask("a4", { home: "y" });
  void ask("b1");
  void ask("b2", { mayUse: (place) => place === "x" });
  await settle();
  assert.deepEqual(begun, ["a1", "a2 at y"]);
  await leave("a2");
  assert.deepEqual(begun.slice(2), ["b1 at y"]);
  await leave("b1");
  // Request b2 of the other owner may not use server y.
  assert.deepEqual(begun.slice(3), ["a4 at y"]);
  await leave("a1");
  assert.deepEqual(begun.slice(4), ["b2"]);
  // Server z becomes reachable again, and then has room.
  queue.offer("z");
  await settle();
  assert.deepEqual(begun.slice(5), ["a3 at z"]);
});

test("refuses requests that no place may serve, and ignores a second leave", async () => {
  const { queue, begun, others, ask, leave, settle } = setUp(1);
  for (const name of ["a1", "a2"]) void ask(name);
  void ask("a3", { mayUse: (place) => place === "y" });
  await settle();
  const gone = new ServiceError({ code: "unavailable", message: "gone" });
  queue.refuseBut(["x"], gone);
  await settle();
  assert.deepEqual(others, { a3: "unavailable" });
  queue.refuseBut([], gone);
  await settle();
  assert.deepEqual(others, { a2: "unavailable", a3: "unavailable" });
  await leave("a1");
  await leave("a1");
  assert.equal(queue.roomAt("x"), 1);
  void ask("a4");
  await settle();
  assert.deepEqual(begun, ["a1", "a4"]);
});

// Tests the order in which clients get turns, and when turns are refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../base/domain/clock.ts";
import { FairTurns } from "./fair-turns.ts";

const forever = systemClock.monotonicMs() + 1_000_000;

/** Takes turns for clients, given by name, and records the order in which they get them. */
function taking(turns: FairTurns) {
  const order: string[] = [];
  const ends = new Map<string, () => void>();
  const take = async (client: string, name: string): Promise<void> => {
    const end = await turns.take(client, forever);
    if (typeof end === "string") return void order.push(`${name} ${end}`);
    order.push(name);
    ends.set(name, end);
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await settled();
  };
  return { order, take, end, settled };
}

test("gives each client one turn at a time, in rotation among those who wait", async () => {
  const { order, take, end, settled } = taking(new FairTurns(1, 10));
  for (const name of ["a1", "a2", "a3"]) void take("a", name);
  for (const name of ["b1", "b2"]) void take("b", name);
  await settled();
  assert.deepEqual(order, ["a1"]);
  for (const name of ["a1", "a2", "b1", "a3", "b2"]) await end(name);
  assert.deepEqual(order, ["a1", "a2", "b1", "a3", "b2"]);
});

test("gives a second simultaneous turn to another client", async () => {
  const { order, take, end, settled } = taking(new FairTurns(2, 10));
  for (const name of ["a1", "a2"]) void take("a", name);
  void take("b", "b1");
  await settled();
  assert.deepEqual(order, ["a1", "b1"]);
  await end("b1");
  assert.deepEqual(order, ["a1", "b1"]);
  await end("a1");
  assert.deepEqual(order, ["a1", "b1", "a2"]);
});

test("refuses a client that waits too long or behind too many, but not the next one", async () => {
  const turns = new FairTurns(1, 1);
  const end = await turns.take("a", forever);
  assert.ok(typeof end !== "string");
  assert.equal(await turns.take("b", 0), "too late");
  const waiting = turns.take("b", forever);
  assert.equal(await turns.take("c", forever), "too many");
  end();
  const second = await waiting;
  assert.ok(typeof second !== "string");
  const last = turns.take("c", forever);
  turns.refuseAll();
  assert.equal(await last, "too late");
});

test("gives a client half of the places that the others leave", async () => {
  const turns = new FairTurns(1, 4);
  const end = await turns.take("a", forever);
  assert.ok(typeof end !== "string");
  const waiting = [turns.take("a", forever), turns.take("a", forever)];
  assert.equal(await turns.take("a", forever), "too many");
  waiting.push(turns.take("b", forever));
  assert.equal(await turns.take("b", forever), "too many");
  turns.refuseAll();
  assert.deepEqual(await Promise.all(waiting), ["too late", "too late", "too late"]);
  end();
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { LoopTurns } from "./loop-turns.ts";

/** Returns turns in a simulated event loop, in which each turn takes `turnMs`. */
function handLoop(turnMs: number) {
  let nowMs = 0;
  let scheduled: (() => void)[] = [];
  const turns = new LoopTurns((call) => void scheduled.push(call), { monotonicMs: () => nowMs });
  const order: string[] = [];
  const work = async (tenant: string, name: string): Promise<void> => {
    await turns.next(tenant);
    order.push(name);
    nowMs += turnMs;
  };
  /** Runs one round of the loop. Returns the names of the calls that ran in it. */
  const round = async (): Promise<readonly string[]> => {
    const calls = scheduled;
    scheduled = [];
    const before = order.length;
    for (const call of calls) {
      call();
      await new Promise((resolve) => setImmediate(resolve));
    }
    return order.slice(before);
  };
  return { work, round, skipRound: () => turns.skipRound() };
}

test("lets tenants take turns, however much work one of them has", async () => {
  const { work, round } = handLoop(5);
  for (let index = 0; index < 100; index++) void work("a", `a${index}`);
  void work("b", "b");
  void work("c", "c");
  const rounds = [await round(), await round(), await round(), await round()];
  assert.deepEqual(rounds, [["a0"], ["b"], ["c"], ["a1"]]);
});

test("lets short turns share a round until their total time is long", async () => {
  const { work, round } = handLoop(1);
  for (const name of ["1", "2", "3", "4", "5", "6"]) void work("a", name);
  assert.deepEqual(await round(), ["1", "2"]);
  assert.deepEqual(await round(), ["3", "4"]);
  assert.deepEqual(await round(), ["5", "6"]);
  assert.deepEqual(await round(), []);
  const tiny = handLoop(0);
  for (let index = 0; index < 6; index++) void tiny.work("a", String(index));
  assert.deepEqual(await tiny.round(), ["0", "1", "2", "3"]);
  assert.deepEqual(await tiny.round(), ["4", "5"]);
});

test("skips rounds to serve connections, but not all rounds", async () => {
  const { work, round, skipRound } = handLoop(5);
  void work("a", "a");
  void work("a", "b");
  skipRound();
  assert.deepEqual(await round(), []);
  assert.deepEqual(await round(), ["a"]);
  let skipped = 0;
  for (; skipped < 100; skipped++) {
    skipRound();
    if ((await round()).length > 0) break;
  }
  assert.equal(skipped, 32);
});

test("runs a turn in this thread automatically", async () => {
  const turns = new LoopTurns();
  const order: string[] = [];
  await Promise.all(
    ["a", "b", "a"].map(async (tenant, index) => {
      await turns.next(tenant);
      order.push(`${tenant}${index}`);
    }),
  );
  assert.deepEqual(order, ["a0", "b1", "a2"]);
});

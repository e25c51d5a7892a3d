// Tests the order in which several readers that share a read budget run, and the number of bytes that they hold.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ReadBudget, type ReadShare } from "./read-budget.ts";

const never = new AbortController().signal;

/** Returns a budget of 100 bytes, and a list of the reads that were granted, by name. */
function budget(limits: { readonly waitingMax?: number; readonly waitSeconds?: number } = {}) {
  const all = new ReadBudget({ bytesMax: 100, waitingMax: 10, waitSeconds: 60, ...limits });
  const granted: string[] = [];
  const hold = async (share: ReadShare, byteCount: number, name: string): Promise<void> => {
    await share.hold(byteCount);
    granted.push(name);
  };
  const ask = (client: string, byteCount: number, name: string, signal: AbortSignal = never) => {
    const share = all.share(client, signal);
    return { share, held: hold(share, byteCount, name) };
  };
  return { all, granted, ask, hold };
}

/** Waits until the callbacks of granted reads have run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("limits a client to half of the bytes, and leaves the rest to others", async () => {
  const { all, granted, ask } = budget();
  const first = ask("a", 40, "a1");
  const second = ask("a", 40, "a2");
  ask("b", 50, "b1");
  await settled();
  assert.deepEqual(granted, ["a1", "b1"]);
  assert.deepEqual([all.used, all.waitingCount], [90, 1]);
  first.share.release();
  await settled();
  assert.deepEqual(granted, ["a1", "b1", "a2"]);
  second.share.release();
  second.share.release();
  assert.equal(all.used, 50);
});

test("runs a reader that exceeds the whole budget while no other runs, and before any smaller one that came later", async () => {
  const { granted, ask } = budget();
  const small = ask("a", 10, "small");
  const large = ask("b", 500, "large");
  const late = ask("c", 10, "late");
  await settled();
  assert.deepEqual(granted, ["small"]);
  small.share.release();
  await large.held;
  await settled();
  assert.deepEqual(granted, ["small", "large"]);
  large.share.release();
  await late.held;
});

test("holds nothing for a reader that waits for more bytes, and frees bytes immediately", async () => {
  const { all, granted, ask, hold } = budget();
  const [one, other] = [ask("a", 50, "a"), ask("b", 50, "b")];
  await settled();
  const grown = hold(one.share, 100, "a grown");
  await settled();
  assert.equal(all.used, 50);
  await hold(other.share, 10, "b shrunk");
  assert.equal(all.used, 10);
  other.share.release();
  await grown;
  assert.deepEqual(granted, ["a", "b", "b shrunk", "a grown"]);
  one.share.release();
  assert.equal(all.used, 0);
});

test("refuses a reader that waits too long, or if too many wait, with a retry time", async () => {
  const { all, ask } = budget({ waitingMax: 2, waitSeconds: 0.02 });
  const first = ask("a", 100, "first");
  await first.held;
  const patient = ask("b", 10, "patient");
  const leaving = new AbortController();
  const left = ask("c", 10, "left", leaving.signal);
  await assert.rejects(ask("d", 10, "too many").held, { code: "overloaded", retryAfterSeconds: 5 });
  leaving.abort(new Error("left"));
  await assert.rejects(left.held, /left/);
  await assert.rejects(patient.held, /got no turn within 0.02 s/);
  assert.deepEqual([all.waitingCount, all.used], [0, 100]);
});

test("takes back the bytes granted to a reader that has already left", async () => {
  const { all, ask } = budget();
  const first = ask("a", 100, "first");
  await first.held;
  const late = ask("b", 10, "late");
  late.share.release();
  first.share.release();
  await late.held;
  assert.equal(all.used, 0);
});

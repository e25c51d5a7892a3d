import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { Futures } from "./futures.ts";
import type { SessionResult } from "./results.ts";

const limits = { resultMs: 1000, futuresPerEntityMax: 2, resultBytesPerEntity: 2000 };
const signal = new AbortController().signal;
const sampled = (size: number): Promise<SessionResult> =>
  Promise.resolve({ kind: "sampled", bytes: new Uint8Array(size) });

test("returns a result as soon as it is there, and asks for another poll at the end of the wait", async () => {
  const clock = new FakeClock();
  const futures = new Futures(clock, limits);
  let finish: (result: SessionResult) => void = () => undefined;
  const id = futures.add("acme", "train", new Promise((resolve) => (finish = resolve)), () => "a reason");
  const first = futures.wait("acme", id, { waitMs: 10, signal });
  await clock.advance(11);
  assert.deepEqual(await first, { kind: "pending", reason: "a reason" });
  const second = futures.wait("acme", id, { waitMs: 10, signal });
  finish({ kind: "saved", weights: "weights", path: "p" });
  assert.deepEqual(await second, { kind: "done", result: { kind: "saved", weights: "weights", path: "p" } });
  assert.equal(await futures.wait("other", id, { waitMs: 0, signal }), null);
});

test("forgets the oldest results beyond the limits of an entity, and results that are too old", async () => {
  const clock = new FakeClock();
  const futures = new Futures(clock, limits);
  const isThere = async (id: string): Promise<boolean> =>
    (await futures.wait("acme", id, { waitMs: 0, signal })) !== null;
  const large = futures.add("acme", "sample", sampled(1000));
  assert.equal(await isThere(large), true);
  const larger = futures.add("acme", "sample", sampled(1400));
  assert.equal(await isThere(larger), true);
  assert.equal(await isThere(large), false);
  await clock.advance(1001);
  futures.sweep();
  assert.equal(await isThere(larger), false);
});

test("refuses operations beyond the limit while all others are in progress", () => {
  const futures = new Futures(new FakeClock(), limits);
  const never = (): Promise<SessionResult> => new Promise(() => undefined);
  futures.add("acme", "train", never());
  futures.requireRoom("acme");
  futures.add("acme", "train", never());
  assert.throws(() => futures.requireRoom("acme"), { code: "overloaded" });
  futures.requireRoom("other");
});

test("reports errors of the implementation without their content", async () => {
  const futures = new Futures(new FakeClock(), limits);
  const id = futures.add("acme", "train", Promise.reject(new Error("a secret")));
  const state = await futures.wait("acme", id, { waitMs: 0, signal });
  assert.equal(state?.kind === "failed" && state.error.code, "internal");
  assert.doesNotMatch(state?.kind === "failed" ? state.error.message : "", /secret/);
});

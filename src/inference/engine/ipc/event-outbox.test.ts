import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import type { GenerationEvent } from "../../../base/domain/generation.ts";
import { failureOf } from "../../../base/processes/serialized-error.ts";
import { EventOutbox } from "./serve-engine.ts";
import type { CallOutput } from "./packed-outputs.ts";

const setUp = (intervalMs: number) => {
  const clock = new FakeClock();
  const sent: string[] = [];
  const send = (outputs: readonly CallOutput[]): void =>
    void sent.push(`${clock.monotonicMs()}: ${outputs.map(nameOf).join(" ")}`);
  return { clock, sent, outbox: new EventOutbox({ intervalMs, clock, send }) };
};

const nameOf = (output: CallOutput): string => {
  if (output.kind !== "event") return output.kind;
  return output.event.kind === "tokens" ? String(output.event.tokens[0].id) : output.event.kind;
};

const of = (event: GenerationEvent, call = 1): CallOutput => ({ kind: "event", call, event });
const token = (id: number, call = 1): CallOutput =>
  of({ kind: "tokens", choice: 0, tokens: [{ id, logprob: NaN, alternatives: [] }] }, call);
const computed = of({ kind: "prompt-computed", cachedTokenCount: 0 });
const finished = of({ kind: "choice-finished", choice: 0, reason: "length", stopTokenId: null });
const failed: CallOutput = { kind: "failed", call: 2, failure: failureOf(new Error("broken"), "failed") };

test("sends the tokens of fast steps together, and those of slow steps individually", async () => {
  const { clock, sent, outbox } = setUp(10);
  for (let id = 0; id < 8; id++) {
    outbox.put([token(id)]);
    await clock.advance(4);
  }
  for (let id = 8; id < 11; id++) {
    await clock.advance(14);
    outbox.put([token(id)]);
  }
  assert.deepEqual(sent, ["0: 0", "10: 1 2", "20: 3 4", "30: 5 6 7", "46: 8", "60: 9", "74: 10"]);
});

test("delays neither beginnings, nor ends, nor the request's tokens before them", async () => {
  const { clock, sent, outbox } = setUp(10);
  outbox.put([computed, token(0)]);
  for (const outputs of [[token(1)], [computed, token(2)], [token(3)], [token(4), finished], [failed]]) {
    await clock.advance(1);
    outbox.put(outputs);
  }
  await clock.advance(100);
  const expected = ["0: prompt-computed 0", "2: 1 prompt-computed 2", "4: 3 4 choice-finished", "5: failed"];
  assert.deepEqual(sent, expected);
  assert.equal(clock.sleepingCount, 0);
});

test("keeps delaying other requests' tokens when an answer begins or ends", async () => {
  const { clock, sent, outbox } = setUp(10);
  outbox.put([token(0), token(100, 2)]);
  for (const outputs of [[token(1), token(101, 2)], [token(2), finished, token(102, 2)], [token(103, 2)]]) {
    await clock.advance(2);
    outbox.put(outputs);
  }
  assert.deepEqual(sent, ["0: 0 100", "4: 1 2 choice-finished"]);
  await clock.advance(4);
  assert.deepEqual(sent.slice(2), ["10: 101 102 103"]);
  await clock.advance(10);
  assert.equal(clock.sleepingCount, 0);
});

test("delays longer if many answers grow, up to a limit", async () => {
  for (const [count, intervalMs] of [
    [32, 10],
    [64, 20],
    [1000, 40],
  ]) {
    const { clock, sent, outbox } = setUp(10);
    const step = Array.from({ length: count }, (_, call) => token(call, call));
    for (let ms = 0; ms <= 40; ms += 5) {
      outbox.put(step);
      await clock.advance(5);
    }
    const times = sent.map((line) => Number.parseInt(line, 10));
    assert.deepEqual(times.slice(0, 2), [0, intervalMs], `${count} requests`);
  }
});

test("reports a last step without events, such as after the last abort", async () => {
  const { clock, sent, outbox } = setUp(10);
  outbox.put([computed, token(0)]);
  await clock.advance(2);
  outbox.put([]);
  await clock.advance(8);
  assert.deepEqual(sent, ["0: prompt-computed 0", "10: "]);
  await clock.advance(100);
  assert.equal(sent.length, 2);
});

test("sends delayed tokens when no step follows", async () => {
  const { clock, sent, outbox } = setUp(10);
  outbox.put([token(0)]);
  await clock.advance(3);
  outbox.put([token(1)]);
  await clock.advance(6);
  assert.deepEqual(sent, ["0: 0"]);
  await clock.advance(1);
  assert.deepEqual(sent, ["0: 0", "10: 1"]);
});

test("delays nothing without an interval", () => {
  const { sent, outbox } = setUp(0);
  for (let id = 0; id < 3; id++) outbox.put([token(id)]);
  assert.deepEqual(sent, ["0: 0", "0: 1", "0: 2"]);
});

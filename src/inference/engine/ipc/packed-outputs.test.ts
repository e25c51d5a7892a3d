import assert from "node:assert/strict";
import { test } from "node:test";
import { deserialize, serialize } from "node:v8";
import type { GeneratedToken, GenerationEvent } from "../../../base/domain/generation.ts";
import { failureOf } from "../../../base/processes/serialized-error.ts";
import type { CallOutput } from "./packed-outputs.ts";
import { packOutputs, unpackOutputs } from "./packed-outputs.ts";

const of = (call: number, event: GenerationEvent): CallOutput => ({ kind: "event", call, event });
const token = (call: number, choice: number, id: number, logprob: number): CallOutput =>
  of(call, { kind: "tokens", choice, tokens: [{ id, logprob, alternatives: [] }] });
const computed = (call: number): CallOutput => of(call, { kind: "prompt-computed", cachedTokenCount: 3 });
const finished: CallOutput = of(1, { kind: "choice-finished", choice: 0, reason: "stop", stopTokenId: 2 });
const failed: CallOutput = { kind: "failed", call: 2, failure: failureOf(new Error("broken"), "failed") };
const judged = (id: number, count: number): GeneratedToken => ({
  id,
  logprob: -0.5,
  alternatives: Array.from({ length: count }, (_, index) => ({ id: id + index, logprob: -index })),
});
const tokens = (...all: readonly GeneratedToken[]): CallOutput =>
  of(3, { kind: "tokens", choice: 1, tokens: all });

/** Returns the form in which outputs should be unpacked: plain objects, with a separate event for each token. */
function unpacked(output: CallOutput): readonly CallOutput[] {
  if (output.kind !== "event" || output.event.kind !== "tokens") return [output];
  const { kind, choice } = output.event;
  return output.event.tokens.map(({ id, logprob, alternatives }) =>
    of(output.call, { kind, choice, tokens: [{ id, logprob, alternatives }] }),
  );
}

for (const [name, outputs] of [
  ["nothing", []],
  ["only tokens", [token(1, 0, 7, NaN), token(2 ** 40, 3, 49_151, -1.25), token(1, 0, 8, -Infinity)]],
  ["no token", [computed(1), failed]],
  [
    "tokens among others",
    [
      computed(1),
      token(1, 0, 7, -0.1),
      computed(2),
      tokens(judged(5, 1)),
      token(2, 1, 9, NaN),
      finished,
      failed,
    ],
  ],
  [
    "several tokens in one event",
    [computed(1), tokens(judged(5, 2), judged(6, 0), judged(7, 3)), finished, tokens(judged(8, 20)), failed],
  ],
] as const satisfies readonly (readonly [string, readonly CallOutput[]])[]) {
  test(`packed outputs survive the way from another process in order: ${name}`, () => {
    const packed = deserialize(serialize(packOutputs(outputs))) as ReturnType<typeof packOutputs>;
    assert.deepEqual([...unpackOutputs(packed)].flatMap(unpacked), outputs.flatMap(unpacked));
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { deserialize, serialize } from "node:v8";
import type { GenerationEvent } from "../../domain/generation.ts";
import type { LoopOutput } from "../loop/settle.ts";
import { packOutputs, unpackOutputs } from "./packed-outputs.ts";

const of = (key: number, event: GenerationEvent): LoopOutput => ({ kind: "event", key, event });
const token = (key: number, choice: number, id: number, logprob: number): LoopOutput =>
  of(key, { kind: "tokens", choice, tokens: [{ id, logprob, alternatives: [] }] });
const computed = (key: number): LoopOutput => of(key, { kind: "prompt-computed", cachedTokenCount: 3 });
const finished: LoopOutput = of(1, { kind: "choice-finished", choice: 0, reason: "stop", stopTokenId: 2 });
const failed: LoopOutput = { kind: "failed", key: 2, code: "internal", message: "broken", detail: "" };
const withAlternatives: LoopOutput = of(3, {
  kind: "tokens",
  choice: 1,
  tokens: [{ id: 5, logprob: -0.5, alternatives: [{ id: 5, logprob: -0.5 }] }],
});

for (const [name, outputs] of [
  ["nothing", []],
  ["tokens alone", [token(1, 0, 7, NaN), token(2 ** 40, 3, 49_151, -1.25), token(1, 0, 8, -Infinity)]],
  ["no token", [computed(1), failed]],
  [
    "tokens among others",
    [computed(1), token(1, 0, 7, -0.1), computed(2), withAlternatives, token(2, 1, 9, NaN), finished, failed],
  ],
] as const satisfies readonly (readonly [string, readonly LoopOutput[]])[]) {
  test(`what is packed comes back in its order from another process: ${name}`, () => {
    const packed = deserialize(serialize(packOutputs(outputs))) as ReturnType<typeof packOutputs>;
    assert.deepEqual([...unpackOutputs(packed)], outputs);
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import type { GenerationEvent } from "../../../base/domain/generation.ts";
import { splitIntoChunks } from "./chunks.ts";

const tokens = (choice: number, count: number): GenerationEvent => ({
  kind: "tokens",
  choice,
  tokens: Array.from({ length: count }, (_, id) => ({ id, logprob: -1, alternatives: [] })),
});
const finished = (choice: number): GenerationEvent => ({
  kind: "choice-finished",
  choice,
  reason: "length",
  stopTokenId: null,
});
const many = (count: number, events: (choice: number) => readonly GenerationEvent[]) =>
  Array.from({ length: count }, (_, choice) => events(choice)).flat();

function check(batch: readonly GenerationEvent[], logprobCount: number, sizes: readonly number[]): void {
  const portions = [...splitIntoChunks(batch, logprobCount)];
  assert.deepEqual(portions.flat(), batch);
  assert.deepEqual(
    portions.map(({ length }) => length),
    sizes,
  );
}

test("keeps a batch of few events whole", () => {
  check([tokens(0, 1)], 1, [1]);
  check(
    many(16, (choice) => [tokens(choice, 16), finished(choice)]),
    1,
    [32],
  );
});

test("splits many events into chunks, each finish with the tokens before it", () => {
  check(
    many(40, (choice) => [tokens(choice, 1), finished(choice)]),
    1,
    [32, 32, 16],
  );
  check(
    many(17, (choice) => [finished(choice)]),
    1,
    [17],
  );
});

test("makes chunks smaller if tokens have log-probabilities", () => {
  // Each of the two choices has 16 tokens with 21 log-probabilities each.
  check(
    many(8, (choice) => [tokens(choice, 16)]),
    21,
    [2, 2, 2, 2],
  );
});

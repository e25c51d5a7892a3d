import assert from "node:assert/strict";
import { test } from "node:test";
import { EndScores } from "./prefix-cache.ts";

const scoresOf = (mark: number): Float32Array => Float32Array.from([mark, -mark]);

test("finds the unchanged scores after a whole prompt of the same scope", () => {
  const kept = new EndScores();
  const scores = scoresOf(1);
  kept.keep("a", [1, 23], scores);
  scores.fill(0);
  assert.deepEqual(kept.find("a", [1, 23]), scoresOf(1));
  assert.deepEqual(
    [kept.find("b", [1, 23]), kept.find("a", [1, 2]), kept.find("a", [12, 3]), kept.find("a", [1])],
    [null, null, null, null],
  );
});

test("evicts the least recently used of 64 prompts for a new one", () => {
  const kept = new EndScores();
  for (let prompt = 0; prompt < 64; prompt++) kept.keep("a", [prompt], scoresOf(prompt));
  kept.find("a", [0]);
  kept.keep("a", [64], scoresOf(64));
  assert.deepEqual([kept.find("a", [0]), kept.find("a", [1])], [scoresOf(0), null]);
  assert.equal(kept.bytes, 64 * 8);
  kept.clear();
  assert.deepEqual([kept.bytes, kept.find("a", [0])], [0, null]);
});

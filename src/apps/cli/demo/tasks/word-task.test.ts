import assert from "node:assert/strict";
import { test } from "node:test";
import { prompts, rewardOf } from "./word-task.ts";

test("has eight different prompts, six of which contain all three words", () => {
  assert.equal(new Set(prompts).size, 8);
  assert.equal(prompts.filter((prompt) => prompt.split("'").length === 7).length, 6);
  assert.equal(prompts[0], "respond with exactly one of 'yes', 'no', 'maybe'");
});

test("rewards the first word, ignoring case and punctuation", () => {
  const cases: readonly (readonly [string, number])[] = [
    ["maybe", 1],
    [" Maybe.", 1],
    ["'no'", 0.75],
    ["YES, of course", 0.5],
    ["perhaps maybe", 0],
    ["maybeyes", 0],
    ["", 0],
  ];
  for (const [answer, reward] of cases) assert.equal(rewardOf(answer, "maybe"), reward, answer);
  assert.equal(rewardOf("yes", "yes"), 1);
  assert.equal(rewardOf("maybe", "yes"), 0.5);
  assert.equal(rewardOf("no", "no"), 1);
});

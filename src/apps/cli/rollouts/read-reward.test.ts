// Tests which texts are rewards.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readReward } from "./read-reward.ts";

test("reads a number, or an object with metrics, from the last line", () => {
  assert.deepEqual(readReward("0.25\n", "It"), { reward: 0.25, metrics: {} });
  assert.deepEqual(readReward("3 tests passed\n-1", "It"), { reward: -1, metrics: {} });
  assert.deepEqual(readReward('{\n"reward": 1,\n"metrics": {"won": true}}', "It"), {
    reward: 1,
    metrics: { won: true },
  });
});

test("refuses every other text with its end", () => {
  for (const text of [
    "",
    "good",
    "[1]",
    "null",
    '{"reward": "1"}',
    '{"reward": 1, "metrics": {"a": "b"}}',
    "NaN",
  ])
    assert.throws(() => readReward(text, "It"), { code: "invalid" });
  assert.throws(() => readReward("all good", "It"), /It is "all good"/);
});

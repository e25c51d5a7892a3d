import assert from "node:assert/strict";
import { test } from "node:test";
import { rewardsByModel } from "./model-rewards.ts";

const job = (
  model_id: string,
  result_step: number | null,
  ...rewards: readonly (readonly ["val/reward" | "data/reward", number | null, number | null])[]
) => ({
  model_id,
  result_step,
  rewards: rewards.map(([metric, before, after]) => ({ metric, before, after })),
});

test("orders a model's rewards from old to new, with the newest version's reward at the end", () => {
  const jobs = [
    job("a", 2, ["val/reward", 0.5, 0.75], ["data/reward", 0.4, null]),
    job("b", 1, ["data/reward", 0.1, null]),
    job("a", null, ["val/reward", 0.5, null]),
    job("a", 1, ["data/reward", 0.2, 0.4], ["val/reward", 0.25, 0.5]),
  ];
  assert.deepEqual(
    [...rewardsByModel(jobs)],
    [
      ["a", [0.25, 0.5, 0.75]],
      ["b", [0.1]],
    ],
  );
});

test("leaves out models whose jobs have no rewards", () => {
  assert.equal(rewardsByModel([job("a", 1)]).size, 0);
});

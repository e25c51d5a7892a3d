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

test("orders the values of a reward from old to new, with the newest version's at the end", () => {
  const jobs = [
    job("a", 2, ["val/reward", 0.5, 0.75], ["data/reward", 0.4, null]),
    job("b", 1, ["data/reward", 0.1, null]),
    job("a", null, ["val/reward", 0.5, null]),
    job("a", 1, ["data/reward", 0.2, 0.4], ["val/reward", 0.25, 0.5]),
  ];
  assert.deepEqual([...rewardsByModel(jobs, "val/reward")], [["a", [0.25, 0.5, 0.75]]]);
  assert.deepEqual(
    [...rewardsByModel(jobs, "data/reward")],
    [
      ["a", [0.2, 0.4]],
      ["b", [0.1]],
    ],
  );
});

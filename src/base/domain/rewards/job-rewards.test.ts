import assert from "node:assert/strict";
import { test } from "node:test";
import { samplePins } from "../../../store/database/contract/storage-under-test.ts";
import { rewardedVersions, rewardsOf } from "./job-rewards.ts";

const versions: Readonly<Record<number, Readonly<Record<string, number>>>> = {
  2: { "val/reward": 0.25, "data/reward": 0.1, "loss/train": 1 },
  3: { "val/reward": 0.5, "data/reward": 0.2 },
  4: { "train/reward": 0.75, "data/reward": 0.4 },
};

function check(startStep: number | null, resultStep: number | null) {
  const job = { modelId: "m", resultStep, pins: startStep === null ? null : { ...samplePins, startStep } };
  const known = rewardedVersions(job).map(({ step }) => step);
  return rewardsOf(job, ({ modelId, step }, metric) => {
    assert.equal(modelId, "m");
    assert.ok(known.includes(step), "only versions that were announced are read");
    return versions[step]?.[metric] ?? null;
  });
}

test("a logged reward is of the version itself, one of its data is of the version before", () => {
  assert.deepEqual(check(2, 3), [
    { metric: "val/reward", before: 0.25, after: 0.5 },
    { metric: "data/reward", before: 0.2, after: 0.4 },
  ]);
});

test("a side without a value is null, and no other metric stands in for it", () => {
  assert.deepEqual(check(3, 4), [
    { metric: "val/reward", before: 0.5, after: null },
    { metric: "train/reward", before: null, after: 0.75 },
    { metric: "data/reward", before: 0.4, after: null },
  ]);
});

test("a running job has only the rewards of its start, a queued one none", () => {
  assert.deepEqual(check(2, null), [{ metric: "val/reward", before: 0.25, after: null }]);
  assert.deepEqual(check(null, null), []);
});

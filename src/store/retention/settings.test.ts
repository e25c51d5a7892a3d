import assert from "node:assert/strict";
import { test } from "node:test";
import { keepPolicies, retentionSettings } from "./settings.ts";

test("days, bytes and numbers of each model are read, in any order", () => {
  const policies = keepPolicies(
    retentionSettings.with({
      trajectories: ["20GB", "90d"],
      jobs: ["0.5d"],
      recordings: ["1000/model", "3MB"],
    }),
  );
  assert.deepEqual(policies, {
    trajectories: { days: 90, entityBytes: 20e9, modelCount: 0 },
    jobs: { days: 0.5, entityBytes: 0, modelCount: 0 },
    recordings: { days: 0, entityBytes: 3e6, modelCount: 1000 },
    revisions: { days: 0, entityBytes: 0, modelCount: 0 },
  });
});

test("recordings are kept for thirty days unless it is said, and all of them where the list is empty", () => {
  assert.deepEqual(keepPolicies(retentionSettings.with()).recordings, {
    days: 30,
    entityBytes: 0,
    modelCount: 100_000,
  });
  const kept = keepPolicies(retentionSettings.with({ recordings: [] })).recordings;
  assert.deepEqual(kept, { days: 0, entityBytes: 0, modelCount: 0 });
});

test("what is neither is refused by name, with what may stand there", () => {
  for (const wrong of ["d", "30 d", "x20GB", "-1d", "20gb", "1000/model"])
    assert.throws(() => keepPolicies(retentionSettings.with({ jobs: [wrong] })), {
      code: "invalid",
      message: `retention.jobs has "${wrong}"; it takes days such as 90d and bytes such as 20GB.`,
    });
});

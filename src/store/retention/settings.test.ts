import assert from "node:assert/strict";
import { test } from "node:test";
import { keepPolicies, retentionSettings } from "./settings.ts";

test("reads limits in days, in bytes and in numbers per model, in any order", () => {
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

test("keeps recordings for thirty days by default, and all of them for an empty list", () => {
  assert.deepEqual(keepPolicies(retentionSettings.with()).recordings, {
    days: 30,
    entityBytes: 0,
    modelCount: 100_000,
  });
  const kept = keepPolicies(retentionSettings.with({ recordings: [] })).recordings;
  assert.deepEqual(kept, { days: 0, entityBytes: 0, modelCount: 0 });
});

test("refuses an invalid limit by name, with the valid forms", () => {
  for (const wrong of ["d", "30 d", "x20GB", "-1d", "20gb", "1000/model"])
    assert.throws(() => keepPolicies(retentionSettings.with({ jobs: [wrong] })), {
      code: "invalid",
      message: `retention.jobs has "${wrong}"; it takes days such as 90d and bytes such as 20GB.`,
    });
});

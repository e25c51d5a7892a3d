import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrainingJob } from "../../client/api.ts";
import {
  jobFilters,
  jobQuery,
  jobRewardColumns,
  ranFor,
  trainedNothing,
  withLiveProgress,
} from "./job-list.ts";

test("accepts only those filters of the URL that the API knows", () => {
  const of = (text: string) => jobFilters(new URLSearchParams(text));
  assert.deepEqual(of("model=p/a&kind=sft&state=failed&after=x"), {
    model: "p/a",
    kind: "sft",
    state: "failed",
  });
  assert.deepEqual(of("model=&kind=tea&state=done"), {});
  assert.deepEqual(jobQuery(of("model=age&kind=sft")), { search: "age", kind: "sft" });
});

test("shows a dash as the duration of a job that never started", () => {
  assert.deepEqual(
    [null, 42.4, 600].map((seconds) => ranFor({ duration_seconds: seconds })),
    ["–", "42 s", "10 min"],
  );
});

test("shows each reward that a job has in a separate column", () => {
  const jobs: readonly Pick<TrainingJob, "rewards">[] = [
    { rewards: [{ metric: "data/reward", before: 0.25, after: null }] },
    { rewards: [{ metric: "val/reward", before: 0, after: 1 }] },
    { rewards: [] },
  ];
  assert.deepEqual(jobRewardColumns(jobs), ["val/reward", "data/reward"]);
});

test("recognizes a job that succeeded without training", () => {
  const counts = {
    groups_submitted: 2,
    groups_trainable: 0,
    trajectories: 4,
    sequences: 0,
    trainable_tokens: 0,
    skipped: { zero_variance: 4 },
    skipped_groups: { zero_variance: 2 },
    steps: { count: 0, passes: 1, sequences_max: 0 },
  };
  const trained = { ...counts, groups_trainable: 2, steps: { count: 3, passes: 1, sequences_max: 4 } };
  assert.ok(trainedNothing({ state: "succeeded", counts }));
  assert.ok(!trainedNothing({ state: "succeeded", counts: trained }));
  // A preference job has no groups.
  assert.ok(!trainedNothing({ state: "succeeded", counts: { ...trained, groups_trainable: 0 } }));
  assert.ok(!trainedNothing({ state: "succeeded", counts: null }));
  assert.ok(!trainedNothing({ state: "failed", counts }));
});

test("takes the progress of the live summary if it is newer", () => {
  const progressAt = (steps: number) => ({
    prepared: 4,
    prepared_total: 4,
    gradient_steps: steps,
    gradient_steps_total: 60,
    gradient_steps_saved: 0,
  });
  const job = { id: "a", phase: "training" as const, progress: progressAt(17) };
  const live = (steps: number) => [
    {
      id: "a",
      model_id: "m",
      model: null,
      kind: "rl" as const,
      gradient_steps: steps,
      gradient_steps_total: 60,
      waiting_for: null,
    },
  ];
  assert.deepEqual(withLiveProgress(job, live(44)).progress, progressAt(44));
  assert.deepEqual(withLiveProgress(job, live(9)), job);
  assert.deepEqual(withLiveProgress(job, []), job);
  assert.deepEqual(withLiveProgress(job, live(44), 45).progress, progressAt(45));
  assert.deepEqual(withLiveProgress(job, [], 16), job);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrainingJob } from "../../client/api.ts";
import { jobFilters, jobRewardColumns, ranFor } from "./job-list.ts";

test("accepts only those filters of the URL that the API knows", () => {
  const of = (text: string) => jobFilters(new URLSearchParams(text));
  assert.deepEqual(of("model=p/a&kind=sft&state=failed&after=x"), {
    model: "p/a",
    kind: "sft",
    state: "failed",
  });
  assert.deepEqual(of("model=&kind=tea&state=done"), {});
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

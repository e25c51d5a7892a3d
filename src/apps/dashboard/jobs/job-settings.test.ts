import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrainingJob } from "../../client/api.ts";
import { jobSettings, queueSeconds } from "./job-settings.ts";

test("lists changed settings first, and formats values of all types", () => {
  const config = { passes: 2, ppo: false, batch_size: null, epsilon: 0.2, rates: [1, 2, 3, 4] };
  // Safe cast: the function reads only these fields.
  const job = {
    experimental_config: config,
    config: null,
    preference_config: null,
    config_changed: ["passes"],
  } as unknown as TrainingJob;
  assert.deepEqual(
    jobSettings(job).map(({ name, text, isChanged }) => `${name} ${text}${isChanged ? " changed" : ""}`),
    ["passes 2 changed", "batch_size –", "epsilon 0.2", "ppo no", "rates 1 … 4 (4 values)"],
  );
});

test("measures the wait until a job's start, or until now", () => {
  const job = (started_at: string | null, state: string) =>
    ({ created_at: "2026-01-01T00:00:00Z", started_at, state }) as TrainingJob;
  const now = Date.parse("2026-01-01T00:01:00Z");
  assert.equal(queueSeconds(job("2026-01-01T00:00:05Z", "succeeded"), now), 5);
  assert.equal(queueSeconds(job(null, "queued"), now), 60);
  assert.equal(queueSeconds(job(null, "cancelled"), now), null);
});

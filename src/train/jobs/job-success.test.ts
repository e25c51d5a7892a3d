// Tests the metric of a version whose job was created from feedback.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PageRequest } from "../../base/domain/page.ts";
import type { ListedSource } from "../../base/domain/rewards/training-source.ts";
import { withFeedbackReward } from "./job-success.ts";
import { outcome } from "./testing/queue-bench.ts";

const source = (id: number, reward: number | null, use: ListedSource["use"] = "trained"): ListedSource => ({
  id: String(id),
  requestId: `r${id}`,
  choice: 0,
  step: 1,
  peopleCount: 1,
  feedback: [],
  reward,
  use,
});

/** Returns the metrics of a job with these sources. */
async function metricsWith(sources: readonly ListedSource[], metrics = outcome.metrics) {
  const list = (jobId: string, { after }: PageRequest) => {
    assert.equal(jobId, "j");
    const start = sources.findIndex(({ id }) => id === after) + 1;
    return Promise.resolve({ items: sources.slice(start, start + 2), hasMore: start + 2 < sources.length });
  };
  return (await withFeedbackReward({ ...outcome, metrics }, { id: "j" }, { sources: { list } })).metrics;
}

test("a version from feedback has the mean reward of the answers on which its job trained", async () => {
  const judged = [source(1, 1), source(2, 0), source(3, 0.5), source(4, null), source(5, 9, "compared")];
  assert.deepEqual(await metricsWith(judged), { ...outcome.metrics, "data/reward": 0.5 });
});

test("other metrics stay as they are", async () => {
  assert.deepEqual(await metricsWith([source(1, null)]), outcome.metrics);
  assert.deepEqual(await metricsWith([]), outcome.metrics);
  const measured = { "data/reward": 0.25 };
  assert.deepEqual(await metricsWith([source(1, 1)], measured), measured);
});

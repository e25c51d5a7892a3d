// Tests of converting the URL's query to the API query for a list of trajectories.
import assert from "node:assert/strict";
import { test } from "node:test";
import { askedPage, filtersIn, isCounted, metricColumns } from "./list-query.ts";

const parsed = (query: string): URLSearchParams => new URLSearchParams(query);

test("keeps known filters that are not empty", () => {
  const filters = filtersIn(parsed("split=val&step=&reward_min=0.5&order=asc&x=1"));
  assert.deepEqual(filters, { split: "val", reward_min: "0.5" });
  assert.equal(isCounted(filters), false);
  assert.equal(isCounted(filtersIn(parsed("split=val&step=3&source=log"))), true);
});

test("requests the page after or before a trajectory", () => {
  assert.deepEqual(askedPage(parsed("split=val&step=3&reward_max=-1")), {
    filter: { split: "val", step: 3, reward_max: -1, limit: 50 },
    isReversed: false,
  });
  assert.deepEqual(askedPage(new URLSearchParams({ metric: "speed>=0.5, right=1,", metadata: "a=b" })), {
    filter: { metric: ["speed>=0.5", "right=1"], metadata: ["a=b"], limit: 50 },
    isReversed: false,
  });
  assert.deepEqual(askedPage(parsed("after=951")), {
    filter: { limit: 50, after: "951" },
    isReversed: false,
  });
  assert.deepEqual(askedPage(parsed("before=900")), {
    filter: { limit: 50, order: "asc", after: "900" },
    isReversed: true,
  });
});

test("shows the metrics that most rows have as columns", () => {
  const metrics: readonly Readonly<Record<string, number | boolean>>[] = [
    { a: 1, b: 2 },
    { b: 1, c: true },
    { c: false, b: 3 },
  ];
  const rows = metrics.map((one) => ({ metrics: one }));
  assert.deepEqual(metricColumns(rows, 2), ["b", "c"]);
});

// The address of a list of trajectories, and what the API is asked for it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { askedPage, filtersIn, isCounted, metricColumns } from "./list-query.ts";

const parsed = (query: string): URLSearchParams => new URLSearchParams(query);

test("filters are passed on, and what is empty or no filter is not", () => {
  const filters = filtersIn(parsed("split=val&step=&reward_min=0.5&order=asc&x=1"));
  assert.deepEqual(filters, { split: "val", reward_min: "0.5" });
  assert.equal(isCounted(filters), false);
  assert.equal(isCounted(filtersIn(parsed("split=val&step=3&source=log"))), true);
});

test("pages go on behind a trajectory, or back from one", () => {
  assert.deepEqual(askedPage(parsed("split=val&step=3&reward_max=-1")), {
    filter: { split: "val", step: 3, reward_max: -1, limit: 50 },
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

test("the commonest metrics have columns", () => {
  const metrics: readonly Readonly<Record<string, number | boolean>>[] = [
    { a: 1, b: 2 },
    { b: 1, c: true },
    { c: false, b: 3 },
  ];
  const rows = metrics.map((one) => ({ metrics: one }));
  assert.deepEqual(metricColumns(rows, 2), ["b", "c"]);
});

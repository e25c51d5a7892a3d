// Tests of a trajectory list's address and its API query.
import assert from "node:assert/strict";
import { test } from "node:test";
import { askedPage, filtersIn, isCounted, metricColumns } from "./list-query.ts";

const parsed = (query: string): URLSearchParams => new URLSearchParams(query);

test("passes on filters, without empty and unknown ones", () => {
  const filters = filtersIn(parsed("split=val&step=&reward_min=0.5&order=asc&x=1"));
  assert.deepEqual(filters, { split: "val", reward_min: "0.5" });
  assert.equal(isCounted(filters), false);
  assert.equal(isCounted(filtersIn(parsed("split=val&step=3&source=log"))), true);
});

test("requests the page after a trajectory, or before one", () => {
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

test("gives the most frequent metrics columns", () => {
  const metrics: readonly Readonly<Record<string, number | boolean>>[] = [
    { a: 1, b: 2 },
    { b: 1, c: true },
    { c: false, b: 3 },
  ];
  const rows = metrics.map((one) => ({ metrics: one }));
  assert.deepEqual(metricColumns(rows, 2), ["b", "c"]);
});

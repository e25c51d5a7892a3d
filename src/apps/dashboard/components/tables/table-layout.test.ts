import assert from "node:assert/strict";
import { test } from "node:test";
import {
  changedColumns,
  directionOf,
  layoutIn,
  nextSort,
  sortedRows,
  toggledColumns,
} from "./table-layout.ts";

test("a click on a heading sorts by the largest values, then by the smallest, then not at all", () => {
  const layout = (sort: string | null) => layoutIn(new URLSearchParams(sort === null ? {} : { sort }));
  const clicks = [nextSort(layout(null), "reward"), nextSort(layout("-reward"), "reward")];
  assert.deepEqual([...clicks, nextSort(layout("reward"), "reward")], ["-reward", "reward", null]);
  assert.equal(nextSort(layout("-reward"), "tokens"), "-tokens");
  assert.equal(directionOf(layout("-reward"), "reward"), "descending");
  assert.equal(directionOf(layout("-reward"), "tokens"), null);
});

test("sorts numbers by size and texts by their numbers, and puts missing values last", () => {
  const sorted = (values: readonly (number | string | null)[], direction: "ascending" | "descending") =>
    sortedRows(values, (value) => value, direction);
  assert.deepEqual(sorted([10, null, -2, 9], "ascending"), [-2, 9, 10, null]);
  assert.deepEqual(sorted([10, null, -2, 9], "descending"), [10, 9, -2, null]);
  assert.deepEqual(sorted(["b", "a10", "a9"], "ascending"), ["a9", "a10", "b"]);
});

test("keeps the changed columns in the URL, also those whose names contain commas", () => {
  const both = toggledColumns(layoutIn(new URLSearchParams({ columns: "a" })), "b, c") ?? "";
  const layout = layoutIn(new URLSearchParams(`?${new URLSearchParams({ columns: both }).toString()}`));
  assert.deepEqual(changedColumns(layout), ["a", "b, c"]);
  assert.equal(toggledColumns(layout, "a"), "b%2C%20c");
  assert.equal(toggledColumns({ columns: "a" }, "a"), null);
});

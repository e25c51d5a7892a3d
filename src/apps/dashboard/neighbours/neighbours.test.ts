import assert from "node:assert/strict";
import { test } from "node:test";
import { neighboursAmong } from "./neighbours.ts";

test("finds the rows before and after a row, and none beyond the ends of the list", () => {
  const ids = ["c", "b", "a"];
  assert.deepEqual(neighboursAmong(ids, "b"), { previous: "c", next: "a" });
  assert.deepEqual(neighboursAmong(ids, "c"), { previous: null, next: "b" });
  assert.deepEqual(neighboursAmong(ids, "a"), { previous: "b", next: null });
  assert.equal(neighboursAmong(ids, "d"), null);
});

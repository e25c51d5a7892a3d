import assert from "node:assert/strict";
import { test } from "node:test";
import { runPlaces, withoutRun, withRun } from "./run-places.ts";

test("a removed run leaves its place empty, and the next run takes it", () => {
  assert.deepEqual(
    [...runPlaces("a,b,a,c")],
    [
      ["a", 0],
      ["b", 1],
      ["c", 3],
    ],
  );
  assert.deepEqual([...runPlaces("")], []);
  const removed = withoutRun("a,b,c", "b");
  assert.deepEqual(
    [...runPlaces(removed)],
    [
      ["a", 0],
      ["c", 2],
    ],
  );
  assert.equal(withRun(removed, "d"), "a,d,c");
  assert.equal(withRun("a,d,c", "e"), "a,d,c,e");
  assert.equal(withRun("", "a"), "a");
  assert.equal(withoutRun("a,,c", "c"), "a");
});

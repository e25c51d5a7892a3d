import assert from "node:assert/strict";
import { test } from "node:test";
import { singleCurve } from "./curve.ts";
import { groupCurves } from "./group-curves.ts";

const many = [
  "val/reward",
  "train/reward",
  "loss/train",
  ...Array.from({ length: 11 }, (_, index) => `time/${index}`),
  "epoch",
].map((label) => singleCurve(label, []));
const none = { find: "", pins: [], open: [] };

const check = (state: Partial<typeof none> & object, expected: readonly string[], curves = many) =>
  assert.deepEqual(
    groupCurves(curves, { ...none, ...state }).map(
      ({ name, curves: members, isOpen }) => `${name} ${members.length}${isOpen ? "" : " closed"}`,
    ),
    expected,
  );

test("shows few curves without groups", () => {
  check({}, [" 3"], many.slice(0, 3));
});

test("shows the most important of many curves first, and closes the groups of the others", () => {
  check({}, ["Most important 6", "time 8 closed", "other 1 closed"]);
  check({ open: ["time"] } as object, ["Most important 6", "time 8", "other 1 closed"]);
});

test("shows pinned curves first, and opens all groups with matches of a search", () => {
  check({ pins: ["epoch", "val/reward"] } as object, ["Pinned 2", "Most important 5", "time 8 closed"]);
  check({ find: "REWARD val" }, [" 1"]);
  check({ find: "e" }, ["val 1", "train 1", "time 11", "other 1"]);
  check({ find: "^reward" }, []);
  check({ find: "^VAL|epoch$" }, [" 2"]);
  check({ find: "(" }, []);
  check({ find: "nothing" }, []);
});

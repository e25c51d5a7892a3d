// Tests the mean lines of groups of runs, and the bands around these lines.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Point, singleCurve } from "../charts/curve.ts";
import { curveCsv, nearestLine, plotData } from "../charts/plot-data.ts";
import { groupedCurves, groupRuns } from "./run-groups.ts";

const point = (step: number, value: number, tokens: number | null = null): Point => ({
  step,
  value,
  tokens,
  time: step * 2,
});
const run = (id: string, rate: string | null, ...points: readonly Point[]) => ({
  id,
  name: id,
  colour: 0,
  curves: [singleCurve("reward", points)],
  settings: new Map(rate === null ? [] : [["rate", rate]]),
});
const runs = [
  run("a", "0.1", point(1, 1, 10), point(2, 3, 20)),
  run("b", "0.5", point(1, -1)),
  run("c", "0.1", point(2, 5)),
  run("d", null, point(1, 0)),
];
const groups = groupRuns(runs, "rate");
const [curve] = groupedCurves(groups);

test("groups runs by a setting, and gives each group the mean and the range of its runs", () => {
  assert.deepEqual(
    groups.map(({ name, runs: members }) => [name, members.map(({ id }) => id)]),
    [
      ["rate 0.1", ["a", "c"]],
      ["rate 0.5", ["b"]],
      ["rate –", ["d"]],
    ],
  );
  assert.deepEqual(
    groups.map(({ colour }) => colour),
    [0, 1, 2],
  );
  const [first] = curve?.lines ?? [];
  assert.equal(first?.name, "rate 0.1 (2)");
  assert.deepEqual(first?.points, [
    { step: 1, time: 2, tokens: 10, value: 1, range: [1, 1] },
    { step: 2, time: 4, tokens: null, value: 4, range: [3, 5] },
  ]);
});

test("draws a band around the mean of a group, and saves its edges", () => {
  assert.ok(curve);
  const data = plotData(curve, { axis: "step", smoothing: 0 });
  assert.deepEqual(
    data.series.slice(0, 2).map(({ edge, values }) => [edge, values]),
    [
      [0, [1, 3]],
      [1, [1, 5]],
    ],
  );
  assert.deepEqual(
    data.series.filter(({ edge }) => edge === undefined).map(({ values }) => values[1]),
    [4, null, null],
  );
  assert.equal(nearestLine(data, 1, 5, (value) => value)?.name, "rate 0.1 (2)");
  const [head, , second] = curveCsv(curve).split("\n");
  assert.deepEqual(
    [head, second],
    ["run,step,seconds,tokens,reward,least,greatest", "rate 0.1 (2),2,4,,4,3,5"],
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { axesOf, overlaid, type Point, singleCurve } from "./curve.ts";
import { curveCsv, paddedRange, plotData } from "./plot-data.ts";

const point = (step: number, value: number, tokens: number | null = null): Point => ({
  step,
  value,
  tokens,
  time: null,
});
const curves = overlaid([
  { name: "a", curves: [singleCurve("reward", [point(0, 1, 10), point(2, 3, 30)])] },
  { name: "b, best", curves: [singleCurve("reward", [point(1, -2)]), singleCurve("loss", [point(1, 4)])] },
]);
const [reward] = curves;
const raw = { axis: "step", smoothing: 0, isLog: false } as const;

test("aligns the lines of several runs, each with its own colour", () => {
  assert.deepEqual(
    curves.map(({ label, lines }) => [label, lines.map(({ colour }) => colour)]),
    [
      ["reward", [0, 1]],
      ["loss", [1]],
    ],
  );
  const { xs, series } = plotData(reward, raw);
  assert.deepEqual(xs, [0, 1, 2]);
  assert.deepEqual(
    series.map(({ values }) => values),
    [
      [1, null, 3],
      [null, -2, null],
    ],
  );
});

test("draws raw values faintly behind smoothed ones", () => {
  const { series } = plotData(reward, { ...raw, smoothing: 0.5 });
  assert.deepEqual(
    series.map(({ isFaint, values }) => [isFaint, values[2]]),
    [
      [true, 3],
      [true, null],
      [false, 1.75 / 0.75],
      [false, null],
    ],
  );
});

test("leaves out points that an axis cannot show", () => {
  assert.deepEqual(plotData(reward, { ...raw, isLog: true }).xs, [0, 2]);
  assert.deepEqual(plotData(reward, { ...raw, axis: "tokens" }).xs, [10, 30]);
  assert.deepEqual(axesOf(curves), ["step", "tokens"]);
});

test("surrounds a single value with a narrow range", () => {
  assert.deepEqual(paddedRange(0, 0, 0), [-0.5, 0.5]);
  assert.deepEqual(paddedRange(8, 8, 0.1), [4, 12]);
  assert.deepEqual(paddedRange(0, 10, 0.1), [-1, 11]);
  const [low, high] = paddedRange(1e-5, 1e-5 + 1e-20, 0.1);
  assert.ok(low < 0.6e-5 && high > 1.4e-5);
});

test("writes a row of CSV for each point", () => {
  assert.equal(curveCsv(reward), 'run,step,seconds,tokens,reward\na,0,,10,1\na,2,,30,3\n"b, best",1,,,-2\n');
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { axesOf, lineStyle, overlaid, type Point, singleCurve } from "./curve.ts";
import {
  curveCsv,
  hiddenCount,
  nearestLine,
  paddedRange,
  plotColumns,
  plotData,
  readingAt,
} from "./plot-data.ts";

const point = (step: number, value: number, tokens: number | null = null): Point => ({
  step,
  value,
  tokens,
  time: null,
});
const curves = overlaid([
  { id: "1", name: "a", colour: 1, curves: [singleCurve("reward", [point(0, 1, 10), point(2, 3, 30)])] },
  {
    id: "2",
    name: "b, best",
    colour: 2,
    curves: [singleCurve("reward", [point(1, -2)]), singleCurve("loss", [point(1, 4)])],
  },
]);
const [reward] = curves;
const raw = { axis: "step", smoothing: 0 } as const;

test("aligns the lines of several runs, each with its own colour", () => {
  assert.deepEqual(
    curves.map(({ label, lines }) => [label, lines.map(({ colour }) => colour)]),
    [
      ["reward", [1, 2]],
      ["loss", [2]],
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

test("gives 28 runs different lines, of which the first eight are solid", () => {
  const styles = Array.from({ length: 28 }, (_, number) => lineStyle(number));
  assert.equal(new Set(styles.map(({ colour, dash }) => `${colour} ${dash.join()}`)).size, 28);
  assert.deepEqual(
    styles.slice(0, 9).map(({ border }) => border),
    [...Array.from({ length: 8 }, () => "solid"), "dashed"],
  );
  assert.equal(new Set(styles.slice(0, 12).map(({ colour }) => colour)).size, 12);
});

test("leaves a gap at values that a logarithmic axis cannot show, and counts these values", () => {
  const [whole] = overlaid([
    {
      id: "1",
      name: "a",
      colour: 0,
      curves: [
        singleCurve(
          "r",
          [0.5, 0, -1].map((value, step) => point(step, value)),
        ),
      ],
    },
    { id: "2", name: "b", colour: 1, curves: [singleCurve("r", [point(2, 2)])] },
  ]);
  const data = plotData(whole, raw);
  assert.deepEqual(plotColumns(data, true), [
    [0, 1, 2],
    [0.5, null, null],
    [undefined, undefined, 2],
  ]);
  assert.deepEqual(plotColumns(data, false)[1], [0.5, 0, -1]);
  assert.equal(hiddenCount(data), 2);
  assert.deepEqual(readingAt(data, { values: data.series[0]?.values ?? [] }, 2), {
    value: -1,
    endedAt: null,
  });
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
  assert.deepEqual(plotData(reward, { ...raw, axis: "tokens" }).xs, [10, 30]);
  assert.deepEqual(axesOf(curves), ["step", "tokens"]);
});

test("finds the run nearest to the pointer among those with a value at the x", () => {
  const [both] = overlaid(
    [1, 3].map((value) => ({
      id: String(value),
      name: `run ${value}`,
      colour: value,
      curves: [singleCurve("r", [point(0, value)])],
    })),
  );
  const nearest = (curve: typeof both, index: number, top: number) =>
    nearestLine(plotData(curve, raw), index, top, (value) => 100 - 10 * value)?.name ?? null;
  assert.equal(nearest(both, 0, 95), "run 1");
  assert.equal(nearest(both, 0, 72), "run 3");
  assert.equal(nearest(reward, 1, 70), "b, best");
  assert.equal(nearest(reward, 7, 70), null);
});

test("says where a line ended, and shows a line's last value between its points", () => {
  const xs = [0, 5, 9];
  const at = (values: readonly (number | null)[], index: number) => readingAt({ xs }, { values }, index);
  assert.deepEqual(at([1, 2, null], 2), { value: 2, endedAt: 5 });
  assert.deepEqual(at([1, null, 3], 1), { value: 1, endedAt: null });
  assert.deepEqual(at([null, null, 3], 1), { value: null, endedAt: null });
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

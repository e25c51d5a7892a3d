// Options of uPlot for a chart: axes, colours, cursor and zoom.
import type uPlot from "uplot";
import { durationText, shortNumber } from "../components/numbers.ts";
import { tickTexts, unitTexts } from "./axis-ticks.ts";
import { type Axis, type Line, lineStyle } from "./curve.ts";
import { paddedRange, type PlotData, type PlotSeries } from "./plot-data.ts";

/** Maximum number of points of a line, and of all lines, that are drawn as dots; more dots would hide the curves. */
const [dotsMax, allDotsMax] = [60, 120];
/** Distances between ticks of steps. Only integers, because steps are integers. */
const stepTicks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000, 100_000];

/** Distances between ticks of seconds. All are short fractions of the unit that such an axis shows. */
const timeTicks = (
  [
    [0.001, [1, 2, 5, 10, 20, 50, 100, 200, 500]],
    [1, [1, 2, 5, 10, 15, 30]],
    [60, [1, 2, 5, 10, 15, 30]],
    [3600, [1, 2, 5, 10]],
    [86_400, [1, 2, 5, 10, 30]],
  ] as const
).flatMap(([unit, counts]) => counts.map((count) => unit * count));

/** Formats a value of the x axis. */
export const axisTexts: { readonly [A in Axis]: (value: number) => string } = {
  step: shortNumber,
  time: durationText,
  tokens: (value) => Intl.NumberFormat("en", { notation: "compact" }).format(value),
};

export interface PlotActions {
  /** Called with the index of the x nearest to the pointer, or null if the pointer leaves all charts. */
  readonly onPoint: (index: number | null) => void;
  readonly onZoom: (zoom: readonly [number, number]) => void;
}

export function plotOptions(
  element: HTMLElement,
  { series }: PlotData,
  {
    axis,
    isLog,
    zoom,
  }: { readonly axis: Axis; readonly isLog: boolean; readonly zoom: readonly [number, number] | null },
  { onPoint, onZoom }: PlotActions,
): uPlot.Options {
  const style = getComputedStyle(element);
  const grid = { stroke: style.getPropertyValue("--line"), width: 1 };
  const colourOf = ({ colour }: Line): string => style.getPropertyValue(lineStyle(colour).colour);
  const lineCount = series.filter(({ isFaint }) => !isFaint).length;
  const hasDots = (count: number): boolean => count < dotsMax && count * lineCount < allDotsMax;
  const axes: uPlot.Axis = { stroke: style.getPropertyValue("--muted"), grid, ticks: grid };
  return {
    width: element.clientWidth,
    height: element.clientHeight,
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false, dist: 5 },
      // The pointer over one chart moves the cursors of all charts of the view. Zooming is not passed on this way,
      // because the address contains the zoom.
      sync: {
        key: "hone",
        scales: ["x", null],
        setSeries: false,
        filters: { pub: (type) => type === "mousemove" || type === "mouseleave" },
      },
    },
    scales: {
      // Reads the ends from the data, because uPlot itself widens the range of a single value.
      x: {
        time: false,
        range: ({ data: [xs] }) => [...(zoom ?? paddedRange(xs[0] ?? 0, xs.at(-1) ?? 0, 0))],
      },
      y: isLog ? { distr: 3 } : { range: (_, min, max) => paddedRange(min, max, 0.08) },
    },
    axes: [
      {
        ...axes,
        ...(axis === "step" && { incrs: stepTicks }),
        ...(axis === "time" && { incrs: timeTicks }),
        values: (_, ticks) => [...unitTexts(axis, ticks)],
      },
      {
        ...axes,
        size: 60,
        // A logarithmic axis leaves out the texts of some ticks, which are then null.
        values: (_, ticks) =>
          isLog ? ticks.map((tick) => (tick === null ? "" : shortNumber(tick))) : [...tickTexts(ticks)],
      },
    ],
    series: [
      {},
      ...series.map(({ line, isFaint, edge }) =>
        edge !== undefined
          ? { width: 0, points: { show: false } }
          : {
              stroke: colourOf(line),
              width: isFaint ? 1 : 2,
              dash: lineStyle(line.colour).dash.map((length) => length * devicePixelRatio),
              alpha: opacityOf({ line, isFaint }, null),
              points: { show: ({ data: [xs] }: uPlot) => !isFaint && hasDots(xs.length), size: 6 },
            },
      ),
    ],
    bands: series.flatMap(({ line, edge }, index) =>
      edge === 1
        ? [{ series: [index + 1, index], fill: `color-mix(in srgb, ${colourOf(line)} 18%, transparent)` }]
        : [],
    ),
    hooks: {
      setCursor: [
        (plot) => {
          const index = plot.cursor.idx ?? null;
          onPoint(index);
          // uPlot draws the cursor at the pointer. The values belong to the nearest point.
          const cursor = plot.over.querySelector<HTMLElement>(".u-cursor-x");
          const x = index === null ? undefined : plot.data[0][index];
          if (cursor !== null && x !== undefined)
            cursor.style.transform = `translate(${plot.valToPos(x, "x")}px, 0)`;
        },
      ],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width === 0) return;
          onZoom([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
  };
}

/**
 * Returns the opacity of a line.
 *
 * @param focused number of the run that the user points at, so that the lines of the others are faint; null for none
 */
export function opacityOf(
  { line, isFaint }: Pick<PlotSeries, "line" | "isFaint">,
  focused: number | null,
): number {
  return (isFaint ? 0.35 : 1) * (focused === null || line.colour === focused ? 1 : 0.12);
}

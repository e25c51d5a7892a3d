// Converts the lines of a curve to the aligned columns that uPlot draws, and to CSV. Has no side effects.
import type { Axis, Curve, Line } from "./curve.ts";
import { smoothed } from "./smooth.ts";

/** A drawn line. With smoothing, each run has a faint line of its raw values too. */
export interface PlotSeries {
  readonly line: Line;
  readonly isFaint: boolean;
  /** Edge of the band around a mean that the series is, as an index of the points' ranges; absent for a line. */
  readonly edge?: 0 | 1;
  /** Number of lines that this line covers somewhere, one over the other; 0 if it covers none. */
  readonly layer: number;
  /** Value for each x; null where the line has none. */
  readonly values: readonly (number | null)[];
}

export interface PlotData {
  /** Ascending x values of all lines. */
  readonly xs: readonly number[];
  /** Faint lines first, so that the smoothed lines are drawn over them. */
  readonly series: readonly PlotSeries[];
}

/** @param options.isLog true to leave out values that a logarithmic axis cannot show */
export function plotData(
  { lines }: Curve,
  { axis, smoothing, isLog }: { readonly axis: Axis; readonly smoothing: number; readonly isLog: boolean },
): PlotData {
  const shown = lines.map((line) => ({
    line,
    points: line.points.filter((point) => point[axis] !== null && (!isLog || point.value > 0)),
  }));
  const xOf = (point: Line["points"][number]): number => point[axis] ?? 0;
  const xs = [...new Set(shown.flatMap(({ points }) => points.map(xOf)))].sort((a, b) => a - b);
  const column = (points: Line["points"], values: readonly number[]): readonly (number | null)[] => {
    const byX = new Map(points.map((point, index) => [xOf(point), values[index] ?? null]));
    return xs.map((x) => byX.get(x) ?? null);
  };
  const drawn = (isFaint: boolean): readonly PlotSeries[] => {
    const columns = shown.map(({ points }) => {
      const raw = points.map(({ value }) => value);
      return column(points, isFaint ? raw : smoothed(raw, smoothing));
    });
    const layers = isFaint ? [] : layersOf(columns);
    return shown.map(({ line }, index) => ({
      line,
      isFaint,
      layer: layers[index] ?? 0,
      values: columns[index] ?? [],
    }));
  };
  /** The edges of the bands. The greatest values of a band directly follow its least values. */
  const edges = shown
    .filter(({ points }) => points.some(({ range }) => range !== undefined))
    .flatMap(({ line, points }) =>
      ([0, 1] as const).map((edge): PlotSeries => {
        const ends = points.map(({ range, value }) => range?.[edge] ?? value);
        const isShown = (end: number): boolean => !isLog || end > 0;
        const values = column(points, smoothed(ends, smoothing)).map((end) =>
          end !== null && isShown(end) ? end : null,
        );
        return { line, isFaint: true, edge, layer: 0, values };
      }),
    );
  // The range of the runs says more than a faint line of raw means.
  const faint = smoothing === 0 || edges.length > 0 ? [] : drawn(true);
  return { xs, series: [...edges, ...faint, ...drawn(false)] };
}

/** Value of a line at a place of the x axis. */
export interface Reading {
  readonly value: number | null;
  /** The line's last x if the line ended before the place; null otherwise. */
  readonly endedAt: number | null;
}

/** Returns the value of a line at an x, or else its last value before. */
export function readingAt(
  { xs }: Pick<PlotData, "xs">,
  { values }: Pick<PlotSeries, "values">,
  index: number,
): Reading {
  const last = values.findLastIndex((value) => value !== null);
  const value = values.slice(0, index + 1).findLast((one) => one !== null) ?? null;
  return { value, endedAt: last !== -1 && last < index ? (xs[last] ?? null) : null };
}

/** Returns the number of lines under each line. A line covers earlier lines with which it shares a segment. */
function layersOf(columns: readonly PlotSeries["values"][]): readonly number[] {
  const values = columns.flat().filter((value) => value !== null);
  // A loop, because the arguments of Math.max are limited.
  const [least, most] = values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity],
  );
  const layers: number[] = [];
  for (const [index, column] of columns.entries()) {
    const covered = columns
      .slice(0, index)
      .map((other, place) =>
        sharesSegment(column, other, (most - least) / 100) ? (layers[place] ?? 0) : -1,
      );
    layers.push(Math.max(-1, ...covered) + 1);
  }
  return layers;
}

/** True if the lines are no further apart than the distance at two successive places. */
function sharesSegment(one: PlotSeries["values"], other: PlotSeries["values"], distance: number): boolean {
  let wasNear = false;
  for (const [index, value] of one.entries()) {
    const beside = other[index] ?? null;
    if (value === null || beside === null) continue;
    const isNear = Math.abs(value - beside) <= distance;
    if (isNear && wasNear) return true;
    wasNear = isNear;
  }
  return false;
}

/**
 * Returns the line whose value at an x is nearest to the pointer; null if no line has a value there.
 *
 * @param topOf converts a value to a distance from the top, in the unit of `top`
 */
export function nearestLine(
  { series }: PlotData,
  index: number,
  top: number,
  topOf: (value: number) => number,
): Line | null {
  let nearest: { readonly line: Line; readonly distance: number } | null = null;
  for (const { line, values, edge } of series) {
    if (edge !== undefined) continue;
    const value = values[index] ?? null;
    const distance = value === null ? Infinity : Math.abs(topOf(value) - top);
    if (distance < (nearest?.distance ?? Infinity)) nearest = { line, distance };
  }
  return nearest?.line ?? null;
}

/**
 * Returns the range of an axis. If all values are equal except for rounding, the range has the value in the middle, and
 * its width is the value itself. For the value 0, or without padding, its width is 1.
 */
export function paddedRange(min: number, max: number, padding: number): [number, number] {
  if (max - min > 1e-9 * Math.max(Math.abs(min), Math.abs(max))) {
    const space = (max - min) * padding;
    return [min - space, max + space];
  }
  const space = padding === 0 || min === 0 ? 0.5 : Math.abs(min) / 2;
  return [min - space, max + space];
}

/** Returns a curve as CSV, with a row for each point of each run. */
export function curveCsv({ label, lines }: Curve): string {
  const cell = (value: string | number | null): string =>
    typeof value === "string" && /[",\n]/.test(value)
      ? `"${value.replaceAll('"', '""')}"`
      : String(value ?? "");
  const hasRanges = lines.some(({ points }) => points.some(({ range }) => range !== undefined));
  const rows = lines.flatMap(({ name, points }) =>
    points.map(({ step, time, tokens, value, range }) => [
      name,
      step,
      time,
      tokens,
      value,
      ...(hasRanges ? (range ?? [null, null]) : []),
    ]),
  );
  const head = ["run", "step", "seconds", "tokens", label, ...(hasRanges ? ["least", "greatest"] : [])];
  return [head, ...rows].map((row) => `${row.map(cell).join(",")}\n`).join("");
}

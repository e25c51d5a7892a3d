// Converts the lines of a curve to the aligned columns that uPlot draws, and to CSV. Has no side effects.
import type { Axis, Curve, Line } from "./curve.ts";
import { smoothed } from "./smooth.ts";

/** A drawn line. With smoothing, each run has a faint line of its raw values too. */
export interface PlotSeries {
  readonly line: Line;
  readonly isFaint: boolean;
  /** Edge of the band around a mean that the series is, as an index of the points' ranges; absent for a line. */
  readonly edge?: 0 | 1;
  /** Value for each x; null where the line has none. */
  readonly values: readonly (number | null)[];
}

export interface PlotData {
  /** Ascending x values of all lines. */
  readonly xs: readonly number[];
  /** Faint lines first, so that the smoothed lines are drawn over them. */
  readonly series: readonly PlotSeries[];
}

export function plotData(
  { lines }: Curve,
  { axis, smoothing }: { readonly axis: Axis; readonly smoothing: number },
): PlotData {
  const shown = lines.map((line) => ({ line, points: line.points.filter((point) => point[axis] !== null) }));
  const xOf = (point: Line["points"][number]): number => point[axis] ?? 0;
  const xs = [...new Set(shown.flatMap(({ points }) => points.map(xOf)))].sort((a, b) => a - b);
  const column = (points: Line["points"], values: readonly number[]): readonly (number | null)[] => {
    const byX = new Map(points.map((point, index) => [xOf(point), values[index] ?? null]));
    return xs.map((x) => byX.get(x) ?? null);
  };
  const drawn = (isFaint: boolean): readonly PlotSeries[] =>
    shown.map(({ line, points }) => {
      const raw = points.map(({ value }) => value);
      return { line, isFaint, values: column(points, isFaint ? raw : smoothed(raw, smoothing)) };
    });
  /** The edges of the bands. The greatest values of a band directly follow its least values. */
  const edges = shown
    .filter(({ points }) => points.some(({ range }) => range !== undefined))
    .flatMap(({ line, points }) =>
      ([0, 1] as const).map((edge): PlotSeries => {
        const ends = points.map(({ range, value }) => range?.[edge] ?? value);
        return { line, isFaint: true, edge, values: column(points, smoothed(ends, smoothing)) };
      }),
    );
  // The range of the runs says more than a faint line of raw means.
  const faint = smoothing === 0 || edges.length > 0 ? [] : drawn(true);
  return { xs, series: [...edges, ...faint, ...drawn(false)] };
}

/** Returns the number of values of the lines that a logarithmic axis cannot show. */
export function hiddenCount({ series }: PlotData): number {
  const lines = series.filter(({ isFaint }) => !isFaint);
  return lines.flatMap(({ values }) => values).filter((value) => value !== null && value <= 0).length;
}

/**
 * Returns the columns that uPlot draws. uPlot connects the points around an `undefined` value, which stands for a place
 * without a value. It leaves a gap at `null`, which stands for a value that the axis cannot show.
 */
export function plotColumns(
  { xs, series }: PlotData,
  isLog: boolean,
): [xs: number[], ...columns: (number | null | undefined)[][]] {
  const shown = (value: number | null): number | null | undefined =>
    value === null ? undefined : isLog && value <= 0 ? null : value;
  return [[...xs], ...series.map(({ values }) => values.map(shown))];
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

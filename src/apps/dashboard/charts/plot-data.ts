// Converts the lines of a curve to the aligned columns that uPlot draws, and to CSV. Has no side effects.
import type { Axis, Curve, Line } from "./curve.ts";
import { smoothed } from "./smooth.ts";

/** A drawn line. With smoothing, each run has a faint line of its raw values too. */
export interface PlotSeries {
  readonly line: Line;
  readonly isFaint: boolean;
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
  const drawn = (isFaint: boolean): readonly PlotSeries[] =>
    shown.map(({ line, points }) => {
      const raw = points.map(({ value }) => value);
      return { line, isFaint, values: column(points, isFaint ? raw : smoothed(raw, smoothing)) };
    });
  return { xs, series: smoothing === 0 ? drawn(false) : [...drawn(true), ...drawn(false)] };
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
  const rows = lines.flatMap(({ name, points }) =>
    points.map(({ step, time, tokens, value }) => [name, step, time, tokens, value]),
  );
  return [["run", "step", "seconds", "tokens", label], ...rows]
    .map((row) => `${row.map(cell).join(",")}\n`)
    .join("");
}

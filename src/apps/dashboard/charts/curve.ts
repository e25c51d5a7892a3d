// Curves that charts show: for each metric, a line per run.

/** Quantity on the x axis: steps (or versions), seconds since the line's first point, or tokens trained on so far. */
export type Axis = "step" | "time" | "tokens";
/** Meaning of a step: an optimizer step of a job, or a version of a model. */
export type StepName = "step" | "version";
export const axes: readonly Axis[] = ["step", "time", "tokens"];

export interface Point {
  readonly step: number;
  /** Seconds since the line's first point; null if unknown. */
  readonly time: number | null;
  /** Number of tokens trained on up to this point; null if unknown. */
  readonly tokens: number | null;
  readonly value: number;
  /** Least and greatest value of the runs whose mean is the value; absent for a single run. */
  readonly range?: readonly [least: number, greatest: number];
}

/** Values of one run, ordered by step. */
export interface Line {
  /** Name of the run. Empty if the chart shows a single run. */
  readonly name: string;
  /** Number of the line's colour; the same run has the same colour in all charts. */
  readonly colour: number;
  readonly points: readonly Point[];
}

export interface Curve {
  readonly label: string;
  readonly lines: readonly Line[];
}

/** A curve of a single run. */
export function singleCurve(label: string, points: readonly Point[]): Curve {
  return { label, lines: [{ name: "", colour: 0, points }] };
}

/** Returns the axes for which at least one of the curves has values. */
export function axesOf(curves: readonly Curve[]): readonly Axis[] {
  const points = curves.flatMap(({ lines }) => lines.flatMap((line) => line.points));
  return axes.filter((axis) => points.some((point) => point[axis] !== null));
}

/** Returns the last step of all curves; 0 if they have no points. */
export function lastStep(curves: readonly Curve[]): number {
  return Math.max(0, ...curves.flatMap(({ lines }) => lines.map(({ points }) => points.at(-1)?.step ?? 0)));
}

/** A run with all its curves. */
export interface Run {
  readonly id: string;
  readonly name: string;
  readonly curves: readonly Curve[];
}

/** Number of different line colours; further runs reuse them. */
export const colourCount = 8;

/**
 * Returns the colour number of each run. It depends on the id, so a run keeps its colour if the order changes. Runs
 * whose ids select the same colour get the next free one, in the order of their ids.
 */
export function runColours(ids: readonly string[]): ReadonlyMap<string, number> {
  const colours = new Map<string, number>();
  const taken = new Set<number>();
  for (const id of ids.toSorted()) {
    let wanted = 0;
    for (const letter of id) wanted = (wanted * 31 + (letter.codePointAt(0) ?? 0)) % 65_521;
    // Each further round of the palette has other numbers, so that no two runs have the same number.
    const round = Math.floor(taken.size / colourCount) * colourCount;
    let colour = round + (wanted % colourCount);
    while (taken.has(colour)) colour = round + ((colour + 1) % colourCount);
    taken.add(colour);
    colours.set(id, colour);
  }
  return colours;
}

/** Returns a curve per metric with a line for each run that has this metric, in the order of the first run. */
export function overlaid(runs: readonly Run[]): readonly Curve[] {
  const colours = runColours(runs.map(({ id }) => id));
  const labels = [...new Set(runs.flatMap(({ curves }) => curves.map(({ label }) => label)))];
  return labels.map((label) => ({
    label,
    lines: runs.flatMap(({ id, name, curves }) => {
      const colour = colours.get(id) ?? 0;
      const points = curves.find((curve) => curve.label === label)?.lines[0]?.points ?? [];
      return points.length === 0 ? [] : [{ name, colour, points }];
    }),
  }));
}

/**
 * Returns the address of a point's details; null if it has none.
 *
 * @param run number of the run's colour
 * @param label name of the curve
 */
export type PointAddress = (run: number, step: number, label: string) => string | null;

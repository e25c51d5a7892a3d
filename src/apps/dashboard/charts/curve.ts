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
  /** Number of the run, which decides the line's colour and dashes: they are the same in all charts. */
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
  /** Number of the run, which decides the colour and the dashes of its lines. */
  readonly colour: number;
  readonly curves: readonly Curve[];
}

/** Number of different line colours; further runs reuse them. */
const colourCount = 12;

/** Number of runs with solid lines. The next as many runs have dashed lines, and all others have dotted lines. */
const solidCount = 8;
const patterns = [
  { border: "solid", dash: [] },
  { border: "dashed", dash: [7, 4] },
  { border: "dotted", dash: [2, 3] },
] as const;

/**
 * Returns the colour, as a custom property of the style sheet, and the dashes of a run's lines. The first 28 runs all
 * differ.
 */
export function lineStyle(colour: number): {
  readonly colour: string;
  /** Style of a border with the same dashes. */
  readonly border: string;
  /** Lengths of dashes and gaps in CSS pixels; empty for a solid line. */
  readonly dash: readonly number[];
} {
  const pattern = patterns[Math.min(Math.floor(colour / solidCount), patterns.length - 1)] ?? patterns[0];
  return { colour: `--run-${colour % colourCount}`, ...pattern };
}

/** Returns the attribute `style` of an element of the class `run`, which shows a sample of the run's lines. */
export function sampleStyle(colour: number): string {
  const { colour: property, border } = lineStyle(colour);
  return `--run: var(${property}); --pattern: ${border}`;
}

/** Returns a curve per metric with a line for each run that has this metric, in the order of the first run. */
export function overlaid(runs: readonly Run[]): readonly Curve[] {
  const labels = [...new Set(runs.flatMap(({ curves }) => curves.map(({ label }) => label)))];
  return labels.map((label) => ({
    label,
    lines: runs.flatMap(({ name, colour, curves }) => {
      const points = curves.find((curve) => curve.label === label)?.lines[0]?.points ?? [];
      return points.length === 0 ? [] : [{ name, colour, points }];
    }),
  }));
}

/**
 * Returns the address of a point's details; null if it has none.
 *
 * @param run number of the run
 * @param label name of the curve
 */
export type PointAddress = (run: number, step: number, label: string) => string | null;

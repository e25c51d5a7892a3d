// Groups runs by the value of a setting. A group has one line in each chart: the mean of its runs, with a band from their
// least to their greatest value. Has no side effects.
import type { Curve, Point, Run } from "../charts/curve.ts";

type SetRun = Run & { readonly settings: ReadonlyMap<string, string> };

export interface RunGroup<R extends SetRun = SetRun> {
  /** The setting with its value, such as `learning_rate 0.001`. */
  readonly name: string;
  /** Number of the group, which decides the colour and the dashes of its line. */
  readonly colour: number;
  readonly runs: readonly R[];
}

/** Returns the groups in the order of their first runs. */
export function groupRuns<R extends SetRun>(runs: readonly R[], setting: string): readonly RunGroup<R>[] {
  const members = new Map<string, R[]>();
  for (const run of runs) {
    const name = `${setting} ${run.settings.get(setting) ?? "–"}`;
    members.set(name, [...(members.get(name) ?? []), run]);
  }
  return [...members].map(([name, grouped], colour) => ({ name, colour, runs: grouped }));
}

/** Returns a curve per metric with a line for each group of which a run has the metric. */
export function groupedCurves(groups: readonly RunGroup[]): readonly Curve[] {
  const labels = groups.flatMap(({ runs }) => runs.flatMap(({ curves }) => curves.map(({ label }) => label)));
  return [...new Set(labels)].map((label) => ({
    label,
    lines: groups.flatMap(({ name, colour, runs }) => {
      const points = meanPoints(
        runs.map(({ curves }) => curves.find((curve) => curve.label === label)?.lines[0]?.points ?? []),
      );
      return points.length === 0 ? [] : [{ name: `${name} (${runs.length})`, colour, points }];
    }),
  }));
}

/** Returns the mean of several lines at each step that at least one of them has. */
function meanPoints(lines: readonly (readonly Point[])[]): readonly Point[] {
  const atStep = new Map<number, Point[]>();
  for (const point of lines.flat()) atStep.set(point.step, [...(atStep.get(point.step) ?? []), point]);
  return [...atStep]
    .toSorted(([one], [other]) => one - other)
    .map(([step, points]) => {
      const values = points.map(({ value }) => value);
      return {
        step,
        time: meanOf(points.map(({ time }) => time)),
        tokens: meanOf(points.map(({ tokens }) => tokens)),
        value: meanOf(values) ?? NaN,
        range: [Math.min(...values), Math.max(...values)],
      };
    });
}

/** Returns the mean; null if a value is unknown. */
function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length < values.length ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

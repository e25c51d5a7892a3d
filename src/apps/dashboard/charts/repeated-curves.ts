// Finds curves that show the same numbers as another curve. If a client logs the trajectories on which a job trains, the
// metrics `train/` of the log and `data/` of the job describe the same trajectories. Has no side effects.
import type { Curve, Line } from "./curve.ts";

/** Returns the repeated curves: the label of each, with the label of the curve that has the same numbers. */
export function repeatedCurves(curves: readonly Curve[]): ReadonlyMap<string, string> {
  const byLabel = new Map(curves.map((curve) => [curve.label, curve]));
  return new Map(
    curves.flatMap((curve): readonly (readonly [string, string])[] => {
      if (!curve.label.startsWith("data/")) return [];
      const logged = byLabel.get(curve.label.replace("data/", "train/"));
      return logged !== undefined && repeats(curve, logged) ? [[curve.label, logged.label]] : [];
    }),
  );
}

function repeats({ lines }: Curve, logged: Curve): boolean {
  return lines.every((line) => {
    const other = logged.lines.find(({ colour }) => colour === line.colour);
    return other !== undefined && begins(line, other);
  });
}

/**
 * True if the values of the logged line begin with those of the line. The steps may differ: a log names the version that
 * sampled the trajectories, or the version that they trained.
 */
function begins({ points }: Line, logged: Line): boolean {
  return points.every(({ value }, index) => {
    const other = logged.points[index]?.value ?? NaN;
    return Math.abs(value - other) <= 1e-9 * Math.max(1, Math.abs(value));
  });
}

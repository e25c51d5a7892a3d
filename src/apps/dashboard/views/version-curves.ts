// Converts the metrics of a model's versions to curves. Has no side effects.
import type { Checkpoint } from "../../client/api.ts";
import { type Curve, type Point, singleCurve } from "../charts/curve.ts";

/** Metrics whose curves are first, in this order. An entry that ends with a slash is a prefix. */
const firstCurves = [
  "val/reward",
  "train/reward",
  "data/reward",
  "loss/train",
  "loss/kl_div",
  "loss/entropy",
  "loss/",
];
/** Metrics that are rewards. Tables show each in a separate column. */
export const rewardNames = ["val/reward", "train/reward", "data/reward"] as const;
export type RewardName = (typeof rewardNames)[number];

/** Returns a curve for each metric. The metrics in `firstCurves` come first. */
export function curvesOf(versions: readonly Checkpoint[]): readonly Curve[] {
  const names = [...new Set(versions.flatMap(({ metrics }) => Object.keys(metrics)))];
  const rankOf = (name: string): number => {
    const rank = firstCurves.findIndex(
      (first) => name === first || (first.endsWith("/") && name.startsWith(first)),
    );
    return rank === -1 ? firstCurves.length : rank;
  };
  const pointOf = pointsOf(versions);
  return names
    .toSorted((one, other) => rankOf(one) - rankOf(other) || one.localeCompare(other))
    .map((name) =>
      singleCurve(
        name,
        versions.flatMap((version) => pointOf(version, version.metrics[name])),
      ),
    )
    .filter(({ lines: [line] }) => line !== undefined && line.points.length > 0);
}

/** Returns a function that converts a version's value of a metric to one point. A missing value gives no point. */
function pointsOf(
  versions: readonly Checkpoint[],
): (version: Checkpoint, value: number | undefined) => readonly Point[] {
  const start = Date.parse(versions[0]?.created_at ?? "");
  let sum = 0;
  const tokens = new Map(
    versions.map(({ step, metrics }) => [step, (sum += metrics["data/step_trainer_tokens"] ?? 0)]),
  );
  return ({ step, created_at: createdAt }, value) =>
    value === undefined || !Number.isFinite(value)
      ? []
      : [
          {
            step,
            time: (Date.parse(createdAt) - start) / 1000,
            tokens: sum === 0 ? null : (tokens.get(step) ?? null),
            value,
          },
        ];
}

/** Returns the rewards that at least one of the versions has. They become columns. */
export function rewardColumns(versions: readonly Pick<Checkpoint, "metrics">[]): readonly RewardName[] {
  return rewardNames.filter((name) => versions.some(({ metrics }) => Number.isFinite(metrics[name])));
}

/**
 * Returns the version with the highest logged reward, the oldest if several are equal, and the metric that decided:
 * the first of `val/reward` and `train/reward` that differs between versions. Null if there is no such metric.
 */
export function bestVersion(
  versions: readonly Pick<Checkpoint, "step" | "metrics">[],
): { readonly step: number; readonly metric: RewardName } | null {
  for (const metric of ["val/reward", "train/reward"] as const) {
    const measured = versions.flatMap(({ step, metrics: { [metric]: value = NaN } }) =>
      Number.isFinite(value) ? [{ step, metric, value }] : [],
    );
    const sorted = measured.toSorted((one, other) => other.value - one.value || one.step - other.step);
    const [best, worst] = [sorted[0], sorted.at(-1)];
    if (best !== undefined && best.value !== worst?.value) return { step: best.step, metric };
  }
  return null;
}

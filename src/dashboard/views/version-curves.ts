// What a model's versions say in numbers, as curves. Pure.
import type { Checkpoint } from "../../client/api.ts";
import type { Curve } from "../parts/chart.tsx";

/** Metrics that people look for first, by name or by what their names begin with. */
const firstCurves = [
  "val/reward",
  "train/reward",
  "data/reward",
  "loss/train",
  "loss/kl_div",
  "loss/entropy",
  "loss/",
];
/** What the table shows as a version's reward: the first of these that it has. */
const rewardNames = ["val/reward", "train/reward", "data/reward"];

/** Of every metric that some version has, those that people look for first in front. */
export function curvesOf(versions: readonly Checkpoint[]): readonly Curve[] {
  const names = [...new Set(versions.flatMap(({ metrics }) => Object.keys(metrics)))];
  const rankOf = (name: string): number => {
    const rank = firstCurves.findIndex(
      (first) => name === first || (first.endsWith("/") && name.startsWith(first)),
    );
    return rank === -1 ? firstCurves.length : rank;
  };
  return names
    .toSorted((one, other) => rankOf(one) - rankOf(other) || one.localeCompare(other))
    .map((name) => {
      const having = versions.filter(({ metrics }) => Number.isFinite(metrics[name]));
      return {
        label: name,
        steps: having.map(({ step }) => step),
        values: having.map(({ metrics }) => metrics[name] ?? NaN),
      };
    })
    .filter(({ steps }) => steps.length > 0);
}

/** NaN where the version has none. */
export function rewardOf(metrics: Checkpoint["metrics"]): number {
  return rewardNames.map((name) => metrics[name]).find((value) => value !== undefined) ?? NaN;
}

// Converts the metrics of a job's gradient steps to curves. Pure.
import type { TrainingEvent } from "../../client/api.ts";
import type { Curve } from "../components/chart.tsx";

/** Metrics with a curve, in order; missing ones are omitted. */
const shownMetrics = [
  "reward",
  "rewards/margins",
  "rewards/accuracies",
  "rewards/chosen",
  "rewards/rejected",
  "loss",
  "kl",
  "entropy",
  "kl_div",
  "kl_policy_ref",
  "grad_norm",
  "learning_rate",
  "tokens_per_second",
];

/** Returns the curves of gradient step events, given oldest first. */
export function stepCurves(events: readonly TrainingEvent[]): readonly Curve[] {
  return shownMetrics.flatMap((label) => {
    const points = events.flatMap(({ data }, index) => {
      const value = data[label];
      return typeof value === "number" ? [{ step: index + 1, value }] : [];
    });
    if (points.length === 0) return [];
    return [{ label, steps: points.map(({ step }) => step), values: points.map(({ value }) => value) }];
  });
}

// Converts the metrics of a job's gradient steps to curves. Has no side effects.
import type { TrainingEvent } from "../../client/api.ts";
import { type Curve, singleCurve } from "../charts/curve.ts";

/** Metrics that have a curve, in the order of the curves. A metric without values has no curve. */
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

/** Returns the curves for events of gradient steps, which must be ordered from oldest to newest. */
export function stepCurves(events: readonly TrainingEvent[]): readonly Curve[] {
  return shownMetrics.flatMap((label) => {
    const points = events.flatMap(({ data }, index) => {
      const value = data[label];
      return typeof value === "number" ? [{ step: index + 1, time: null, tokens: null, value }] : [];
    });
    return points.length === 0 ? [] : [singleCurve(label, points)];
  });
}

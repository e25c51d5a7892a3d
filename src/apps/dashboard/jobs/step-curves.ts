// Converts the metrics of a job's gradient steps to curves. Has no side effects.
import type { TrainingEvent } from "../../client/api.ts";
import { type Curve, type Point, singleCurve } from "../charts/curve.ts";

/** Metrics whose curves are first, in this order. */
const firstCurves = [
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
  const xs = stepPlaces(events);
  const names = new Set(events.flatMap(({ data }) => Object.keys(data)));
  return [...new Set([...firstCurves, ...[...names].sort()])].flatMap((label) => {
    // Counts of the job's data, such as `num_trajectories`, are the same in each step.
    if (label.startsWith("num_")) return [];
    const points = events.flatMap(({ data }, index): readonly Point[] => {
      const [value, place] = [data[label], xs[index]];
      return typeof value === "number" && place !== undefined ? [{ ...place, value }] : [];
    });
    return points.length === 0 ? [] : [singleCurve(label, points)];
  });
}

/** Returns the x values of each step. Once a step lacks the numbers for time or tokens, these stay null. */
function stepPlaces(events: readonly TrainingEvent[]): readonly Omit<Point, "value">[] {
  let [time, tokens]: [number | null, number | null] = [0, 0];
  return events.map(({ data }, index) => {
    const { num_tokens: count, tokens_per_second: speed } = data;
    tokens = tokens === null || typeof count !== "number" ? null : tokens + count;
    time =
      time === null || typeof count !== "number" || typeof speed !== "number" ? null : time + count / speed;
    return { step: index + 1, time, tokens };
  });
}

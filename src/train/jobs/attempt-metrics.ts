// What is counted and timed of attempts at jobs, in one place.
import type { Metrics } from "../../base/telemetry/metrics.ts";
import type { Ending } from "./ending.ts";

/** How an attempt ended, as it is counted: a job that has ended by its state. */
export type EndingName = "succeeded" | "failed" | "cancelled" | "lost" | "waits" | "parked" | "left";

export interface AttemptMetrics {
  ended(ending: Ending, durationMs: number): void;
  stepped(): void;
}

const endings: readonly EndingName[] = [
  "succeeded",
  "failed",
  "cancelled",
  "lost",
  "waits",
  "parked",
  "left",
];

const secondsBuckets = [1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 24 * 3600];

/** Registers the metrics; once per registry. */
export function createAttemptMetrics(metrics: Metrics): AttemptMetrics {
  const attempts = metrics.counter({
    name: "hone_training_attempts_total",
    help: "Attempts at training jobs, by how they ended: the job succeeded, failed or was cancelled; the attempt was lost, waits for what the machine lacks, was parked by a stop, or left to another server.",
    labels: ["ending"],
    known: endings.map((ending) => ({ ending })),
  });
  const seconds = metrics.histogram({
    name: "hone_training_attempt_seconds",
    help: "How long attempts at training jobs took.",
    labels: ["ending"],
    buckets: secondsBuckets,
  });
  const steps = metrics.counter({
    name: "hone_training_steps_total",
    help: "Gradient steps of training jobs.",
  });
  return {
    ended: (ending, durationMs) => {
      const name = endingName(ending);
      attempts.increase({ ending: name });
      seconds.observe(durationMs / 1000, { ending: name });
    },
    stepped: () => steps.increase(),
  };
}

/** How an attempt ended, in a word. */
export function endingName(ending: Ending): EndingName {
  if (ending.kind === "end") return ending.state;
  return names[ending.kind];
}

const names: { readonly [Kind in Exclude<Ending["kind"], "end">]: EndingName } = {
  succeed: "succeeded",
  retry: "lost",
  wait: "waits",
  park: "parked",
  leave: "left",
};

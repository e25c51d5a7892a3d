// Stores a job attempt's reports: events, progress with the remaining time, and warnings. Also counts attempts in
// metrics.
import { assert, present, unreachable } from "../../base/domain/assert.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { JobCounts, JobProgress, JobReport, JobStore, TrainingJob } from "../../base/domain/job.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { JobTrace } from "./job-trace.ts";
import type { Metrics } from "../../base/telemetry/metrics.ts";
import type { Ending } from "./next-state.ts";

/** Metric label for the outcome of a job attempt. If the attempt ended the job, the label is the job's final state. */
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

/** Registers the metrics of job attempts. Call it once per registry. */
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

/** Returns the metric label for the outcome of a job attempt. */
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

export interface ReportDependencies {
  readonly jobs: Pick<JobStore, "appendEvent" | "updateProgress" | "advance" | "addWarning" | "findRunning">;
  /** Id of the server that runs the job. */
  readonly owner: string;
  readonly clock: Clock;
  readonly metrics?: Pick<AttemptMetrics, "stepped">;
  /** Trace of the job attempt; null if tracing is off. */
  readonly trace?: JobTrace | null;
  readonly logger: Logger;
  /** Called after each of the job's events is stored durably. */
  readonly onEvent: () => void;
  /**
   * Called after the attempt durably stored more saved steps or prepared lines, from which a later attempt can
   * continue.
   */
  readonly onAdvanced: () => void;
}

/**
 * Number of sequence numbers below 0 that are reserved for preparation events. The event for the start of training has
 * number 0.
 */
const preparingEvents = 11;

/**
 * Minimum number of training lines for which preparation events are sent, one for each tenth of the lines. Fewer lines
 * are prepared so fast that a report would be useless.
 */
const tenthsLinesMin = 1000;

/** Creates the object that stores the events and the progress of one attempt at a job. */
export function createReport(
  { id: jobId, progress: earlier }: TrainingJob,
  { jobs, owner, clock, metrics: meter, trace, logger, onEvent, onAdvanced }: ReportDependencies,
): JobReport {
  // Initially shows the steps that an earlier attempt saved. If this attempt cannot continue from them, it reports that
  // immediately.
  const savedEarlierCount = earlier?.savedStepCount ?? 0;
  let progress: JobProgress = {
    phase: "preparing",
    prepared: earlier?.prepared ?? null,
    gradientStepCount: savedEarlierCount,
    gradientStepCountTotal: earlier?.gradientStepCountTotal ?? null,
    savedStepCount: savedEarlierCount,
    endsAt: null,
  };
  /** Counts of the job's data; null until training starts. */
  let counts: JobCounts | null = null;
  let reportedTenth = 0;
  const update = async (change: Partial<JobProgress>, isFurther = false): Promise<void> => {
    progress = { ...progress, ...change };
    if (!isFurther) return jobs.updateProgress(jobId, owner, progress, counts);
    await jobs.advance(jobId, owner, progress, counts);
    onAdvanced();
  };
  const requireOwned = async (): Promise<void> => {
    if ((await jobs.findRunning(jobId, owner)) === null) throw notOwned(jobId);
  };
  const after = (seconds: number | undefined): Date | null =>
    seconds === undefined ? null : new Date(clock.now().getTime() + seconds * 1000);
  return async (event) => {
    switch (event.kind) {
      case "prepared": {
        const { count, total, secondsLeft } = event;
        const tenth = total < tenthsLinesMin ? 0 : Math.floor((10 * count) / total);
        if (tenth > reportedTenth) {
          const data = { num_prepared: count, num_to_prepare: total, seconds_left: secondsLeft };
          requireFinite(data);
          await jobs.appendEvent(jobId, owner, tenth - preparingEvents, { type: "preparing", data });
        }
        // If a report says that all lines are prepared, it does not count as progress. Otherwise, every first attempt
        // would count as an attempt that made progress.
        const isFurther = count < total && count > (earlier?.prepared?.count ?? 0);
        await update({ prepared: { count, total }, endsAt: after(secondsLeft) }, isFurther);
        if (tenth > reportedTenth) onEvent();
        reportedTenth = tenth;
        return;
      }
      case "started":
        requireFinite(event.metrics);
        await jobs.appendEvent(jobId, owner, 0, { type: "training_started", data: event.metrics });
        counts = event.counts;
        await update({ gradientStepCountTotal: event.stepCount, endsAt: null });
        return onEvent();
      case "entered":
        trace?.enter(event.phase);
        await update({ phase: event.phase });
        return requireOwned();
      case "asks-for-job":
        return requireOwned();
      case "stepped": {
        const { index, metrics, secondsLeft } = event;
        present(counts, "a runner reports its start first");
        const total = progress.gradientStepCountTotal ?? 0;
        assert(
          Number.isInteger(index) && index >= 0 && index < total,
          `step ${index} is one of the ${total} announced`,
        );
        requireFinite(metrics);
        await jobs.appendEvent(jobId, owner, index + 1, { type: "gradient_step", data: metrics });
        meter?.stepped();
        trace?.stepped(index);
        await update({ gradientStepCount: index + 1, endsAt: after(secondsLeft) });
        return onEvent();
      }
      case "saved": {
        const { stepCount } = event;
        const isFurther = stepCount > savedEarlierCount;
        return update({ gradientStepCount: stepCount, savedStepCount: stepCount }, isFurther);
      }
      case "warned":
        logger.warn({ warning: event.warning }, "a job reported a warning");
        return jobs.addWarning(jobId, event.warning);
      case "noted":
        return logger.warn({ note: event.message }, "an attempt reported a note");
      default:
        return unreachable(event);
    }
  };
}

function notOwned(jobId: string): ServiceError {
  const message = `The job ${jobId} no longer runs for this server; another server may have taken it.`;
  return new ServiceError({ code: "conflict", message });
}

/**
 * Asserts that all metrics are finite numbers. JSON cannot represent NaN, and clients refuse null in place of a number.
 */
export function requireFinite(metrics: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(metrics)) {
    assert(Number.isFinite(value), `the metric ${name} is a finite number, not ${value}`);
  }
}

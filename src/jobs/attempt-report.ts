// What an attempt reports, made durable: the job's events, its progress with the time it has left, its warnings.
import { assert, present } from "../domain/assert.ts";
import type { Clock } from "../domain/clock.ts";
import type { JobCounts, JobProgress, JobReport, JobStore, TrainingJob } from "../domain/job.ts";
import type { Logger } from "../telemetry/logger.ts";

export interface ReportDependencies {
  readonly jobs: Pick<JobStore, "appendEvent" | "updateProgress" | "addWarning">;
  readonly clock: Clock;
  /** Of the attempt. */
  readonly logger: Logger;
  /** Called after every event is durable. */
  readonly onEvent: () => void;
  /** Called when so many steps are kept for another attempt. */
  readonly onSaved: (stepCount: number) => void;
}

/** The report of one attempt at the job. */
export function createReport(
  { id: jobId, progress: earlier }: TrainingJob,
  { jobs, clock, logger, onEvent, onSaved }: ReportDependencies,
): JobReport {
  let start: { readonly progress: JobProgress; readonly counts: JobCounts } | null = null;
  const advance = async (change: Partial<JobProgress>): Promise<void> => {
    const { progress, counts } = present(start, "a runner reports its start first");
    start = { progress: { ...progress, ...change }, counts };
    await jobs.updateProgress(jobId, start.progress, counts);
  };
  return {
    started: async (gradientStepCountTotal, counts, metrics) => {
      requireFinite(metrics);
      await jobs.appendEvent(jobId, 0, { type: "training_started", data: metrics });
      // What an earlier attempt kept was told by then; this one says at once if it cannot go on behind it.
      const savedStepCount = earlier?.savedStepCount ?? 0;
      const steps = { gradientStepCount: savedStepCount, savedStepCount, gradientStepCountTotal };
      start = { progress: { phase: "preparing", ...steps, endsAt: null }, counts };
      await advance({});
      onEvent();
    },
    entered: (phase) => advance({ phase }),
    stepped: async (index, metrics, secondsLeft) => {
      const total = present(start, "a runner reports its start first").progress.gradientStepCountTotal;
      assert(
        Number.isInteger(index) && index >= 0 && index < total,
        `step ${index} is one of the ${total} announced`,
      );
      requireFinite(metrics);
      await jobs.appendEvent(jobId, index + 1, { type: "gradient_step", data: metrics });
      const endsAt = secondsLeft === undefined ? null : new Date(clock.now().getTime() + secondsLeft * 1000);
      await advance({ gradientStepCount: index + 1, endsAt });
      onEvent();
    },
    saved: async (stepCount) => {
      await advance({ gradientStepCount: stepCount, savedStepCount: stepCount });
      onSaved(stepCount);
    },
    warned: async (warning) => {
      logger.warn({ warning }, "a job was warned of");
      await jobs.addWarning(jobId, warning);
    },
    noted: async (message) => logger.warn({ note: message }, "an attempt noted something"),
  };
}

/** JSON has no NaN, and clients refuse null where a number belongs. */
export function requireFinite(metrics: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(metrics)) {
    assert(Number.isFinite(value), `the metric ${name} is a finite number, not ${value}`);
  }
}

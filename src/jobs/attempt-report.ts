// What an attempt reports, made durable: the job's events, its progress with the time it has left, its warnings.
import { assert, present } from "../domain/assert.ts";
import type { Clock } from "../domain/clock.ts";
import type { JobCounts, JobProgress, JobReport, JobStore, TrainingJob } from "../domain/job.ts";
import type { Logger } from "../telemetry/logger.ts";

export interface ReportDependencies {
  readonly jobs: Pick<JobStore, "appendEvent" | "updateProgress" | "advance" | "addWarning">;
  /** Whom the job runs for. */
  readonly owner: string;
  readonly clock: Clock;
  /** Of the attempt. */
  readonly logger: Logger;
  /** Called after every event is durable. */
  readonly onEvent: () => void;
  /** Called when it is durable that the attempt kept further steps for another one. */
  readonly onAdvanced: () => void;
}

/** The report of one attempt at the job. */
export function createReport(
  { id: jobId, progress: earlier }: TrainingJob,
  { jobs, owner, clock, logger, onEvent, onAdvanced }: ReportDependencies,
): JobReport {
  const savedEarlierCount = earlier?.savedStepCount ?? 0;
  let start: { readonly progress: JobProgress; readonly counts: JobCounts } | null = null;
  const update = async (
    change: Partial<JobProgress>,
    how: "updateProgress" | "advance" = "updateProgress",
  ): Promise<void> => {
    const { progress, counts } = present(start, "a runner reports its start first");
    start = { progress: { ...progress, ...change }, counts };
    await jobs[how](jobId, owner, start.progress, counts);
  };
  return {
    started: async (gradientStepCountTotal, counts, metrics) => {
      requireFinite(metrics);
      await jobs.appendEvent(jobId, owner, 0, { type: "training_started", data: metrics });
      // What an earlier attempt kept was told by then; this one says at once if it cannot go on behind it.
      const steps = { gradientStepCount: savedEarlierCount, savedStepCount: savedEarlierCount };
      const progress = { phase: "preparing", ...steps, gradientStepCountTotal, endsAt: null } as const;
      start = { progress, counts };
      await update({});
      onEvent();
    },
    entered: (phase) => update({ phase }),
    stepped: async (index, metrics, secondsLeft) => {
      const total = present(start, "a runner reports its start first").progress.gradientStepCountTotal;
      assert(
        Number.isInteger(index) && index >= 0 && index < total,
        `step ${index} is one of the ${total} announced`,
      );
      requireFinite(metrics);
      await jobs.appendEvent(jobId, owner, index + 1, { type: "gradient_step", data: metrics });
      const endsAt = secondsLeft === undefined ? null : new Date(clock.now().getTime() + secondsLeft * 1000);
      await update({ gradientStepCount: index + 1, endsAt });
      onEvent();
    },
    saved: async (stepCount) => {
      const isFurther = stepCount > savedEarlierCount;
      const kept = { gradientStepCount: stepCount, savedStepCount: stepCount };
      await update(kept, isFurther ? "advance" : "updateProgress");
      if (isFurther) onAdvanced();
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

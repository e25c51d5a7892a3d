// A job as it enters the queue.
import type { TrainingJob } from "../domain/job.ts";

/** A queued job that nobody has tried yet. */
export function newJob(
  identity: Pick<TrainingJob, "id" | "modelId" | "config" | "configNotApplied" | "createdAt">,
): TrainingJob {
  return {
    ...identity,
    state: "queued",
    startedAt: null,
    endedAt: null,
    errorMessage: null,
    attemptCount: 0,
    progress: null,
    counts: null,
    resultStep: null,
    cancelRequested: false,
  };
}

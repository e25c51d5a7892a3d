// A job as it enters the queue.
import type { JobDraft, MadeBy } from "../../base/domain/job.ts";

/** A queued job that nobody has tried yet. */
export function newJob(
  identity: Pick<JobDraft, "id" | "modelId" | "task" | "configNotApplied" | "createdAt"> & {
    readonly replayOf?: string;
    readonly warnings?: readonly string[];
    readonly retryOf?: string;
    readonly madeBy?: MadeBy;
  },
): JobDraft {
  return {
    replayOf: null,
    retryOf: null,
    warnings: [],
    ...identity,
    state: "queued",
    startedAt: null,
    endedAt: null,
    errorMessage: null,
    attemptCount: 0,
    lostCount: 0,
    restartCount: 0,
    waitingFor: null,
    progress: null,
    counts: null,
    resultStep: null,
    cancelRequested: false,
    pins: null,
    comparison: null,
  };
}

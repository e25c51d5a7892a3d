// Creates the record of a new job, and finds the kind of job that trained a version.
import type { JobDraft, MadeBy, JobKind, JobStore } from "../../base/domain/job.ts";
import type { ModelVersion } from "../../base/domain/model.ts";

/** Returns the record of a new job: queued, and not attempted yet. */
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

/**
 * Returns the kind of the job that trained a version; for a copy of a version, the kind of the job that trained the
 * original. Null if no job did.
 */
export async function trainingKindOf(
  { jobs }: { readonly jobs: Pick<JobStore, "find"> },
  { jobId, copiedKind }: ModelVersion,
): Promise<JobKind | null> {
  return jobId === null ? copiedKind : ((await jobs.find(jobId))?.task.kind ?? null);
}

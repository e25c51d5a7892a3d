// How jobs and versions refer to each other: a new job for the queue, and which kind of job trained a version.
import type { JobDraft, MadeBy, JobKind, JobStore } from "../../base/domain/job.ts";
import type { ModelVersion } from "../../base/domain/model.ts";

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

/** What kind of job made a version, or the one that it was copied from; null when none did. */
export async function trainingKindOf(
  { jobs }: { readonly jobs: Pick<JobStore, "find"> },
  { jobId, copiedKind }: ModelVersion,
): Promise<JobKind | null> {
  return jobId === null ? copiedKind : ((await jobs.find(jobId))?.task.kind ?? null);
}

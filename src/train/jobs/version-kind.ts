// Which kind of job trained a version.
import type { JobKind, JobStore } from "../../base/domain/job.ts";
import type { ModelVersion } from "../../base/domain/model.ts";

/** What kind of job made a version, or the one that it was copied from; null when none did. */
export async function trainingKindOf(
  { jobs }: { readonly jobs: Pick<JobStore, "find"> },
  { jobId, copiedKind }: ModelVersion,
): Promise<JobKind | null> {
  return jobId === null ? copiedKind : ((await jobs.find(jobId))?.task.kind ?? null);
}

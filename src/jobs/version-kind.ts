// Versions and the jobs that made them.
import type { JobKind, JobStore } from "../domain/job.ts";
import type { ModelVersion } from "../domain/model.ts";

/** What kind of job made a version; null when none did. */
export async function kindBehind(
  { jobs }: { readonly jobs: Pick<JobStore, "find"> },
  { jobId }: ModelVersion,
): Promise<JobKind | null> {
  return jobId === null ? null : ((await jobs.find(jobId))?.task.kind ?? null);
}

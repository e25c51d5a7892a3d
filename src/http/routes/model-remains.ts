// What belongs to a model beside itself: its versions and its unfinished jobs.
import type { JobState } from "../../domain/job.ts";
import type { ModelStore, ModelVersion } from "../../domain/model.ts";
import type { HttpDependencies } from "../dependencies.ts";

/** Every version that is not deleted, oldest first. */
export async function allVersions(models: ModelStore, modelId: string): Promise<readonly ModelVersion[]> {
  const versions: ModelVersion[] = [];
  for (let after: string | null = null; ;) {
    const page = await models.listVersions(modelId, { after, limit: 100, order: "asc" });
    versions.push(...page.items);
    after = page.items.at(-1)?.id ?? null;
    if (!page.hasMore || after === null) return versions;
  }
}

/** Cancels every job of the model that has not ended. */
export async function cancelJobs(
  { jobs, jobQueue }: Pick<HttpDependencies, "jobs" | "jobQueue">,
  modelId: string,
): Promise<void> {
  for (const state of ["queued", "running"] as const satisfies readonly JobState[]) {
    const ids: string[] = [];
    for (let after: string | null = null; ;) {
      const page = await jobs.list({ modelIds: [modelId], state }, { after, limit: 100, order: "asc" });
      ids.push(...page.items.map(({ id }) => id));
      after = page.items.at(-1)?.id ?? null;
      if (!page.hasMore || after === null) break;
    }
    for (const id of ids) await jobQueue.cancel(id);
  }
}

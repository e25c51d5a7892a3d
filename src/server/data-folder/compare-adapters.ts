// Compares the adapters that are kept with the versions in the database. Where they differ, one of them belongs elsewhere or
// lost its last writes, as a database does whose log was damaged: nothing is removed, and the system check stays red.
import type { ArtifactStore } from "../../artifacts/artifact-store.ts";
import type { JobStore } from "../../domain/job.ts";
import { adapterFolderOf, adaptersOf, type ModelStore } from "../../domain/model.ts";
import { allItems } from "../../domain/page.ts";
import { ServiceError } from "../../domain/service-error.ts";

export interface AdapterComparison {
  /** Adapters that versions of the database are to have, by their keys. */
  readonly missing: readonly string[];
  /** Those of versions that the database does not know, and never had. */
  readonly unknown: readonly string[];
}

export interface ComparedStores {
  readonly artifacts: Pick<ArtifactStore, "has" | "names">;
  readonly models: Pick<ModelStore, "find" | "list" | "listVersions" | "greatestStep">;
  readonly jobs: Pick<JobStore, "list">;
}

/** To be called while no job runs, behind the sweep. */
export async function compareAdapters(stores: ComparedStores): Promise<AdapterComparison> {
  return { missing: await missingAdapters(stores), unknown: await unknownAdapters(stores) };
}

/** What is wrong with what was found and is so still; null where all is well. */
export async function comparisonFault(
  { missing, unknown }: AdapterComparison,
  artifacts: Pick<ArtifactStore, "has">,
): Promise<ServiceError | null> {
  const gone: string[] = [];
  const strange: string[] = [];
  for (const key of missing) if (!(await artifacts.has(key))) gone.push(key);
  for (const key of unknown) if (await artifacts.has(key)) strange.push(key);
  if (gone.length + strange.length === 0) return null;
  const parts = [
    ...(gone.length === 0
      ? []
      : [`${named(gone)} should be there and ${gone.length === 1 ? "is" : "are"} not`]),
    ...(strange.length === 0 ? [] : [`the database does not know ${named(strange)}`]),
  ];
  return new ServiceError({
    code: "internal",
    message:
      `In the data folder ${parts.join(", and ")}. The database may have lost what was written last, or is another one's: ` +
      "put back the one that belongs to these adapters, or delete the versions, or move the folders away.",
  });
}

/** Folders that a message names. */
const namedMax = 5;

function named(folders: readonly string[]): string {
  const rest = folders.length > namedMax ? ` and ${folders.length - namedMax} more` : "";
  return `${folders.slice(0, namedMax).join(", ")}${rest}`;
}

async function missingAdapters({ artifacts, models }: ComparedStores): Promise<readonly string[]> {
  const missing: string[] = [];
  const all = { entity: null, project: null, name: null };
  for await (const { id } of allItems((page) => models.list(all, page)))
    for await (const { adapterFolder } of allItems((page) => models.listVersions(id, page)))
      if (adapterFolder !== null && !(await artifacts.has(adapterFolder))) missing.push(adapterFolder);
  return missing;
}

async function unknownAdapters({ artifacts, models, jobs }: ComparedStores): Promise<readonly string[]> {
  const unknown: string[] = [];
  for (const modelId of await artifacts.names("adapters")) {
    const steps = (await artifacts.names(adaptersOf(modelId))).filter((name) => /^\d+$/.test(name));
    const isKnown = (await models.find(modelId)) !== null;
    const known = isKnown ? await greatestKnownStep({ models, jobs }, modelId) : -1;
    unknown.push(
      ...steps.filter((step) => Number(step) > known).map((step) => adapterFolderOf(modelId, Number(step))),
    );
  }
  return unknown;
}

/** Of the model's versions, and of those that its jobs have begun to make. */
async function greatestKnownStep(
  { models, jobs }: Pick<ComparedStores, "models" | "jobs">,
  modelId: string,
): Promise<number> {
  let greatest = await models.greatestStep(modelId);
  const filter = { entity: null, modelId, kind: null, state: null };
  for await (const { pins } of allItems((page) => jobs.list(filter, page)))
    greatest = Math.max(greatest, pins?.resultStep ?? 0);
  return greatest;
}

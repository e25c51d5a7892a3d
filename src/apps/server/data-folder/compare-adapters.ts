// Compares the stored adapters with the versions in the database. A difference means that the database has lost its
// last writes (because its log was damaged, for example), or that adapters and database belong to different servers.
// Nothing is removed, and the system check fails until the difference is repaired.
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import type { JobStore } from "../../../base/domain/job.ts";
import { adapterFolderOf, adaptersOf, type ModelStore, type VersionKey } from "../../../base/domain/model.ts";
import { allItems } from "../../../base/domain/page.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

export interface AdapterComparison {
  /** Keys of adapters that versions in the database refer to, but that do not exist. */
  readonly missing: readonly string[];
  /** Keys of stored adapters whose versions were never in the database. */
  readonly unknown: readonly string[];
}

export interface ComparedStores {
  readonly artifacts: Pick<ArtifactStore, "has" | "names">;
  readonly models: Pick<ModelStore, "find" | "findVersion" | "list" | "listVersions" | "greatestStep">;
  readonly jobs: Pick<JobStore, "list">;
}

/** Compares all adapters. Call it after the sweep, while this server runs no jobs. */
export async function compareAdapters(stores: ComparedStores): Promise<AdapterComparison> {
  return { missing: await missingAdapters(stores), unknown: await unknownAdapters(stores) };
}

/**
 * Checks again which of the differences still exist, and returns them as an error; null if none does. A difference
 * disappears, for example, when another server finishes publishing or deleting a version.
 */
export async function comparisonFault(
  { missing, unknown }: AdapterComparison,
  stores: ComparedStores,
): Promise<ServiceError | null> {
  const { artifacts } = stores;
  const gone: string[] = [];
  const strange: string[] = [];
  for (const key of missing)
    if ((await isVersions(stores, key)) && !(await artifacts.has(key))) gone.push(key);
  for (const key of unknown)
    if (!(await isKnown(stores, key)) && (await artifacts.has(key))) strange.push(key);
  if (gone.length + strange.length === 0) return null;
  const parts = [
    ...(gone.length === 0 ? [] : [`${named(gone)} ${gone.length === 1 ? "is" : "are"} missing`]),
    ...(strange.length === 0 ? [] : [`the database does not know ${named(strange)}`]),
  ];
  return new ServiceError({
    code: "internal",
    message:
      `In the data folder ${parts.join(", and ")}. The database may have lost its last writes, or belong to another server: ` +
      "restore the database of these adapters, or delete the versions, or move the folders away.",
  });
}

/** Maximum number of adapters named in a message. */
const namedMax = 5;

function named(folders: readonly string[]): string {
  const rest = folders.length > namedMax ? ` and ${folders.length - namedMax} more` : "";
  return `${folders.slice(0, namedMax).join(", ")}${rest}`;
}

async function missingAdapters({ artifacts, models }: ComparedStores): Promise<readonly string[]> {
  const missing: string[] = [];
  const all = { entity: null, project: null, name: null };
  for await (const { id } of allItems((page) => models.list(all, page))) {
    // The adapters are listed once per model, because a remote store responds slowly.
    const there = new Set((await artifacts.names(adaptersOf(id))).map((name) => `${adaptersOf(id)}/${name}`));
    for await (const { adapterFolder } of allItems((page) => models.listVersions(id, page)))
      if (adapterFolder !== null && !there.has(adapterFolder)) missing.push(adapterFolder);
  }
  return missing;
}

async function unknownAdapters(stores: ComparedStores): Promise<readonly string[]> {
  const { artifacts } = stores;
  const unknown: string[] = [];
  for (const modelId of await artifacts.names("adapters")) {
    const steps = (await artifacts.names(adaptersOf(modelId))).filter((name) => /^\d+$/.test(name));
    const known = await greatestKnownStep(stores, modelId);
    unknown.push(
      ...steps.filter((step) => Number(step) > known).map((step) => adapterFolderOf(modelId, Number(step))),
    );
  }
  return unknown;
}

/** Returns true if the database has a version whose adapter has this key. */
async function isVersions({ models }: ComparedStores, key: string): Promise<boolean> {
  const { modelId, step } = versionOf(key);
  return (await models.findVersion(modelId, step))?.adapterFolder === key;
}

async function isKnown(stores: ComparedStores, key: string): Promise<boolean> {
  const { modelId, step } = versionOf(key);
  return step <= (await greatestKnownStep(stores, modelId));
}

/** Returns the version that a key belongs to: the inverse of `adapterFolderOf`. */
function versionOf(key: string): VersionKey {
  const [, modelId = "", step] = key.split("/");
  return { modelId, step: Number(step) };
}

/**
 * Returns the greatest step that the database has for a model: the steps of its versions, and the steps that its jobs
 * have reserved for their results. Returns -1 for an unknown model.
 */
async function greatestKnownStep(
  { models, jobs }: Pick<ComparedStores, "models" | "jobs">,
  modelId: string,
): Promise<number> {
  if ((await models.find(modelId)) === null) return -1;
  let greatest = await models.greatestStep(modelId);
  const filter = { entity: null, modelId, kind: null, state: null };
  for await (const { pins } of allItems((page) => jobs.list(filter, page)))
    greatest = Math.max(greatest, pins?.resultStep ?? 0);
  return greatest;
}

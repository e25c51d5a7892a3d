// Stores the versions of trained models. Keeps the row of a deleted version, so that the version's number is never
// reused.
import { type Kysely, type Selectable, sql, type Transaction } from "kysely";
import type { JobPins } from "../../../base/domain/job.ts";
import {
  baseOfFiles,
  type BaseHashes,
  type ModelStore,
  type HeldVersion,
  type ModelVersion,
  type SavedName,
  type VersionDeletion,
  type VersionDraft,
  type VersionKey,
  type VersionMetrics,
} from "../../../base/domain/model.ts";
import { notFound, ServiceError } from "../../../base/domain/service-error.ts";
import type { Connection } from "../dialect.ts";
import { readPage } from "../paging.ts";
import { anyOf } from "../chunks.ts";
import { stepsOfCycle } from "../learning/held-versions.ts";
import { stepsOfRollouts } from "../rollouts/rollout-versions.ts";
import type { ModelVersionTable, Schema } from "../schema.ts";

type VersionQueries = Pick<
  ModelStore,
  | "newestVersion"
  | "greatestStep"
  | "findVersion"
  | "listVersions"
  | "listVersionTimes"
  | "findMetrics"
  | "deleteVersions"
  | "deleteOlderVersions"
  | "useVersion"
  | "endUse"
  | "pinVersion"
  | "addVersion"
  | "oldTrainerStates"
  | "dropTrainerStates"
  | "expiredVersions"
  | "setExpiry"
  | "adoptBase"
  | "versionsOverOthers"
  | "acceptBase"
>;

/** Returns those operations of the model store that concern versions. */
export function versionQueries(connection: Pick<Connection, "queries" | "form">): VersionQueries {
  const { queries: database } = connection;
  return {
    newestVersion: async (modelId) => {
      const row = await liveVersions(database, modelId)
        .where("held", "is", null)
        .orderBy("step", "desc")
        .limit(1)
        .executeTakeFirst();
      return row === undefined ? null : versionOf(row);
    },
    greatestStep: (modelId) => greatestStep(database, modelId),
    findVersion: async (modelId, step) => {
      const row = await liveVersions(database, modelId).where("step", "=", step).executeTakeFirst();
      return row === undefined ? null : versionOf(row);
    },
    listVersions: (modelId, page) =>
      readPage(
        {
          rows: liveVersions(database, modelId),
          orderColumn: "step",
          contentColumns: ["metrics", "trainer_state"],
          // A deleted version remains valid as a cursor.
          orderValueOf: async (id) => {
            const version = database.selectFrom("model_versions").select("step").where("id", "=", id);
            return (await version.where("model_id", "=", modelId).executeTakeFirst())?.step;
          },
          itemOf: versionOf,
        },
        page,
      ),
    listVersionTimes: async (modelIds, after, limit) => {
      // Returns early, because an empty list is invalid SQL.
      if (modelIds.length === 0) return [];
      let rows = database
        .selectFrom("model_versions")
        .select(["model_id", "step", "created_at"])
        .where("model_id", "in", modelIds)
        .where("is_deleted", "=", 0);
      if (after !== null) {
        const { modelId, step } = after;
        rows = rows.where((row) => row(row.refTuple("model_id", "step"), ">", row.tuple(modelId, step)));
      }
      const found = await rows.orderBy("model_id").orderBy("step").limit(limit).execute();
      return found.map(({ model_id: modelId, step, created_at: at }) => ({
        modelId,
        step,
        createdAt: new Date(at),
      }));
    },
    findMetrics: (versions, names) => findMetrics(connection, versions, names),
    deleteVersions: (modelId, steps, now) =>
      database.transaction().execute((transaction) => deleteVersions(transaction, modelId, steps, now)),
    deleteOlderVersions: (modelId, options) =>
      database.transaction().execute((transaction) => deleteOlderVersions(transaction, modelId, options)),
    useVersion: (version, server) =>
      database.transaction().execute((transaction) => useVersion(transaction, version, server)),
    endUse: async ({ modelId, step }, server) => {
      await database
        .deleteFrom("server_versions")
        .where("server_id", "=", server)
        .where("model_id", "=", modelId)
        .where("step", "=", step)
        .execute();
    },
    pinVersion: async (modelId, step, isPinned) => {
      const row = await database
        .updateTable("model_versions")
        .set({ is_pinned: isPinned ? 1 : 0 })
        .where("model_id", "=", modelId)
        .where("step", "=", step)
        .where("is_deleted", "=", 0)
        .returningAll()
        .executeTakeFirst();
      return row === undefined ? null : versionOf(row);
    },
    addVersion: (draft, place) =>
      database.transaction().execute((transaction) => addVersion(transaction, draft, place)),
    oldTrainerStates: (modelId, keptCount) => oldTrainerStates(database, modelId, keptCount),
    dropTrainerStates: async (modelId, states) => {
      // Returns early, because an empty list is invalid SQL.
      if (states.length === 0) return;
      await database
        .updateTable("model_versions")
        .set({ trainer_state: null })
        .where("model_id", "=", modelId)
        .where("trainer_state", "in", states)
        .execute();
    },
    ...savedQueries(database),
    ...baseQueries(database),
  };
}

/** Returns those operations of the model store that concern versions with a saved name. */
function savedQueries(database: Kysely<Schema>): Pick<ModelStore, "expiredVersions" | "setExpiry"> {
  return {
    expiredVersions: async (at, limit) => {
      const rows = await database
        .selectFrom("model_versions")
        .select(["model_id", "step"])
        .where("expires_at", "<=", at.toISOString())
        .where("is_deleted", "=", 0)
        .orderBy("expires_at")
        .limit(limit)
        .execute();
      return rows.map(({ model_id: modelId, step }) => ({ modelId, step }));
    },
    setExpiry: async (modelId, step, expiresAt) => {
      const row = await database
        .updateTable("model_versions")
        .set({ expires_at: expiresAt?.toISOString() ?? null })
        .where("model_id", "=", modelId)
        .where("step", "=", step)
        .where("saved_as", "is not", null)
        .where("is_deleted", "=", 0)
        .returningAll()
        .executeTakeFirst();
      return row === undefined ? null : versionOf(row);
    },
  };
}

/** Returns those operations of the model store that concern the base models on which versions were trained. */
function baseQueries(
  database: Kysely<Schema>,
): Pick<ModelStore, "adoptBase" | "versionsOverOthers" | "acceptBase"> {
  return {
    adoptBase: (baseModel, hashes) =>
      database.transaction().execute((transaction) => adoptBase(transaction, baseModel, hashes)),
    versionsOverOthers: async (baseModel, weights, limit) => {
      const rows = await database
        .selectFrom("model_versions")
        .selectAll()
        .where("is_deleted", "=", 0)
        .where("base", "!=", weights)
        .where("model_id", "in", modelsOver(database, baseModel))
        .orderBy("created_at", "desc")
        .orderBy("id")
        .limit(limit)
        .execute();
      return rows.map(versionOf);
    },
    acceptBase: async (modelId, weights) => {
      const rows = await database
        .updateTable("model_versions")
        .set({ base: weights })
        .where("model_id", "=", modelId)
        .where("base", "!=", weights)
        .returning(["step", "is_deleted"])
        .execute();
      const live = rows.filter(({ is_deleted: isDeleted }) => isDeleted === 0);
      return live.map(({ step }) => step).sort((one, other) => one - other);
    },
  };
}

function modelsOver(database: Kysely<Schema>, baseModel: string) {
  return database.selectFrom("models").select("models.id").where("models.base_model", "=", baseModel);
}

async function adoptBase(
  transaction: Transaction<Schema>,
  baseModel: string,
  { weights, files }: BaseHashes,
): Promise<number> {
  const adopted = transaction
    .updateTable("model_versions")
    .set({ base: weights })
    .where("adapter_folder", "is not", null)
    .where("model_id", "in", modelsOver(transaction, baseModel));
  await adopted.where("base", "=", baseOfFiles(files)).execute();
  const unknown = await adopted.where("base", "is", null).returning("is_deleted").execute();
  return unknown.filter(({ is_deleted: isDeleted }) => isDeleted === 0).length;
}

async function deleteVersions(
  transaction: Transaction<Schema>,
  modelId: string,
  steps: readonly number[],
  now: Date,
): Promise<VersionDeletion> {
  await lockModel(transaction, modelId);
  const neededSteps = await stepsInUse(transaction, modelId, now);
  const result = {
    deleted: [] as number[],
    notFound: [] as number[],
    pinned: [] as number[],
    inUse: [] as number[],
  };
  for (const step of new Set(steps)) {
    const version = await liveVersions(transaction, modelId).where("step", "=", step).executeTakeFirst();
    if (version === undefined) result.notFound.push(step);
    else if (step === 0) result.deleted.push(step);
    else if (version.is_pinned === 1) result.pinned.push(step);
    else if (neededSteps.has(step)) result.inUse.push(step);
    else {
      await markDeleted(transaction, modelId, step);
      result.deleted.push(step);
    }
  }
  return result;
}

async function deleteOlderVersions(
  transaction: Transaction<Schema>,
  modelId: string,
  { keptCount, spared, server, now }: Parameters<ModelStore["deleteOlderVersions"]>[1],
): Promise<readonly number[]> {
  await lockModel(transaction, modelId);
  const neededSteps = await stepsInUse(transaction, modelId, now);
  const used = await transaction
    .selectFrom("server_versions")
    .select("step")
    .where("model_id", "=", modelId)
    .where("server_id", "!=", server)
    .execute();
  const usedSteps = new Set(used.map(({ step }) => step));
  const versions = await liveVersions(transaction, modelId)
    .where("step", ">", 0)
    .orderBy("step", "desc")
    .execute();
  // Held versions may be newer than the version that is served, which must stay.
  const served = versions.find(({ held }) => held === null);
  const deleted = versions
    .slice(keptCount)
    .filter((version) => version !== served)
    .filter(({ is_pinned }) => is_pinned === 0)
    .map(({ step }) => step)
    .filter((step) => !neededSteps.has(step) && !spared.has(step) && !usedSteps.has(step));
  for (const step of deleted) await markDeleted(transaction, modelId, step);
  return deleted;
}

/**
 * Records that a server uses a version. First locks the model, so that a concurrent deletion of versions either waits,
 * or is already committed when this function checks that the version exists.
 */
async function useVersion(
  transaction: Transaction<Schema>,
  { modelId, step }: VersionKey,
  server: string,
): Promise<boolean> {
  await lockModel(transaction, modelId);
  const version = await liveVersions(transaction, modelId).where("step", "=", step).executeTakeFirst();
  if (version === undefined) return false;
  const withLease = transaction
    .selectFrom("servers")
    .select((row) => ["id", row.val(modelId).as("model_id"), row.val(step).as("step")])
    .where("id", "=", server);
  await transaction
    .insertInto("server_versions")
    .columns(["server_id", "model_id", "step"])
    .expression(withLease)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return true;
}

function liveVersions(database: Kysely<Schema>, modelId: string) {
  return database
    .selectFrom("model_versions")
    .selectAll()
    .where("model_id", "=", modelId)
    .where("is_deleted", "=", 0);
}

async function markDeleted(transaction: Transaction<Schema>, modelId: string, step: number): Promise<void> {
  await transaction
    .updateTable("model_versions")
    .set({ is_deleted: 1 })
    .where("model_id", "=", modelId)
    .where("step", "=", step)
    .execute();
}

/** Locks the model's row by updating it without a change. Returns false if the model does not exist. */
export async function lockModel(transaction: Transaction<Schema>, modelId: string): Promise<boolean> {
  const result = await transaction
    .updateTable("models")
    .set((row) => ({ scenario_count: row.ref("scenario_count") }))
    .where("id", "=", modelId)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

/** Returns the numbers of the versions that unfinished jobs, the cycle of a learning model and open rollouts need. */
async function stepsInUse(
  transaction: Transaction<Schema>,
  modelId: string,
  now: Date,
): Promise<ReadonlySet<number>> {
  const ofCycle = await stepsOfCycle(transaction, modelId);
  const ofRollouts = await stepsOfRollouts(transaction, modelId, now);
  return new Set([...(await startStepsOfJobs(transaction, modelId)), ...ofCycle, ...ofRollouts]);
}

/** Returns the numbers of the versions from which unfinished jobs start. */
async function startStepsOfJobs(
  transaction: Transaction<Schema>,
  modelId: string,
): Promise<ReadonlySet<number>> {
  const rows = await transaction
    .selectFrom("jobs")
    .select("pins")
    .where("model_id", "=", modelId)
    .where("state", "in", ["queued", "running"])
    .where("pins", "is not", null)
    .execute();
  // Safe cast: the job store wrote this JSON.
  return new Set(rows.map(({ pins }) => (JSON.parse(String(pins)) as JobPins).startStep));
}

async function addVersion(
  transaction: Transaction<Schema>,
  { trainerStateIn, ...draft }: VersionDraft,
  place: (step: number, requireStep: () => Promise<void>) => Promise<string>,
): Promise<ModelVersion> {
  const { modelId } = draft;
  const requireModel = async (): Promise<void> => {
    if (!(await lockModel(transaction, modelId))) throw notFound("model", modelId);
  };
  await requireModel();
  if ((await startStepsOfJobs(transaction, modelId)).size > 0) throw versionIsTaken();
  const step = (await greatestStep(transaction, modelId)) + 1;
  const adapterFolder = await place(step, requireModel);
  const version = {
    ...draft,
    step,
    adapterFolder,
    trainerState: trainerStateIn?.(adapterFolder) ?? null,
    jobId: null,
    // A client that saved the version under a name may come back for it, so it is not deleted automatically.
    isPinned: draft.saved !== undefined,
    copiedKind: null,
  };
  await insertVersion(transaction, version);
  return version;
}

/** Returns the error for a version that a job is already creating. */
function versionIsTaken(): ServiceError {
  return new ServiceError({
    code: "conflict",
    message:
      "A training job of this model has begun, and the next version is its own; try again when it has ended, or cancel it.",
  });
}

/** Returns the highest version number of the model, including deleted versions. */
export async function greatestStep(database: Kysely<Schema>, modelId: string): Promise<number> {
  const row = await database
    .selectFrom("model_versions")
    .select(({ fn }) => fn.max("step").as("step"))
    .where("model_id", "=", modelId)
    .executeTakeFirst();
  return row?.step ?? 0;
}

async function oldTrainerStates(
  database: Kysely<Schema>,
  modelId: string,
  keptCount: number,
): Promise<readonly string[]> {
  const withState = await database
    .selectFrom("model_versions")
    .select(["trainer_state", "is_deleted", "saved_as"])
    .where("model_id", "=", modelId)
    .where("trainer_state", "is not", null)
    .orderBy("step", "desc")
    .execute();
  const live = withState.filter((version) => version.is_deleted === 0);
  const kept = new Set([
    ...live.filter((version) => version.saved_as !== null),
    ...live.filter((version) => version.saved_as === null).slice(0, keptCount),
  ]);
  return withState.filter((version) => !kept.has(version)).flatMap((version) => version.trainer_state ?? []);
}

/**
 * Stores a version within the caller's transaction.
 *
 * @throws ServiceError `conflict` if the model already has a version with this number or from this job
 */
export async function insertVersion(transaction: Transaction<Schema>, version: ModelVersion): Promise<void> {
  const result = await transaction
    .insertInto("model_versions")
    .values({
      id: version.id,
      model_id: version.modelId,
      step: version.step,
      adapter_folder: version.adapterFolder,
      trainer_state: version.trainerState,
      job_id: version.jobId,
      metrics: JSON.stringify(version.metrics),
      own_metrics: JSON.stringify(version.metrics),
      created_at: version.createdAt.toISOString(),
      is_pinned: version.isPinned ? 1 : 0,
      base: version.base,
      adapter_hash: version.adapterHash,
      copied_kind: version.copiedKind,
      ...savedColumns(version.saved),
      is_deleted: 0,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (result.numInsertedOrUpdatedRows !== 1n) {
    throw new ServiceError({
      code: "conflict",
      message: `Version ${version.step} of model ${version.modelId}, or another version of job ${version.jobId}, exists already.`,
    });
  }
}

function savedColumns(saved: ModelVersion["saved"]) {
  if (saved === undefined) return {};
  const { id, expiresAt, metadata, baseName } = saved;
  return {
    saved_as: id,
    saved_metadata: JSON.stringify({ metadata, baseName }),
    expires_at: expiresAt?.toISOString() ?? null,
  };
}

/** Reads single metrics of versions with SQL, because all metrics of a version may be many times as long. */
async function findMetrics(
  { queries, form }: Pick<Connection, "queries" | "form">,
  versions: readonly VersionKey[],
  names: readonly string[],
): Promise<readonly VersionMetrics[]> {
  // Returns early, because an empty list is invalid SQL.
  if (versions.length === 0) return [];
  const steps = new Map<string, number[]>();
  for (const { modelId, step } of versions) steps.set(modelId, [...(steps.get(modelId) ?? []), step]);
  const value = (name: string) => form.numberOfJson(form.jsonAt(sql.ref("metrics"), [name]));
  const rows = await queries
    .selectFrom("model_versions")
    .select(["model_id", "step"])
    .select(names.map((name, index) => value(name).as(`value_${index}`)))
    .where("is_deleted", "=", 0)
    .where((row) =>
      anyOf([...steps].map(([modelId, wanted]) => row("model_id", "=", modelId).and("step", "in", wanted))),
    )
    .execute();
  return rows.map(({ model_id: modelId, step, ...values }) => {
    const given: Readonly<Record<string, number | null>> = values;
    const metrics = names.flatMap((name, index) => {
      const metric = given[`value_${index}`] ?? null;
      return metric === null ? [] : [[name, metric] as const];
    });
    return { modelId, step, metrics: Object.fromEntries(metrics) };
  });
}

/**
 * Merges metrics into the metrics of a version, within the caller's transaction. Metrics with which the version was
 * created do not change. Does nothing if the version does not exist or is deleted.
 */
export async function mergeMetrics(
  transaction: Transaction<Schema>,
  modelId: string,
  step: number,
  metrics: Readonly<Record<string, number>>,
): Promise<void> {
  const row = await transaction
    .updateTable("model_versions")
    // Locks the row by updating it, so that the metrics that are read here cannot change before the merge.
    .set((row) => ({ metrics: row.ref("metrics") }))
    .where("model_id", "=", modelId)
    .where("step", "=", step)
    .where("is_deleted", "=", 0)
    .returning(["id", "metrics", "own_metrics"])
    .executeTakeFirst();
  if (row === undefined) return;
  const present = JSON.parse(row.metrics) as Readonly<Record<string, number>>;
  const own = JSON.parse(row.own_metrics) as Readonly<Record<string, number>>;
  await transaction
    .updateTable("model_versions")
    .set({ metrics: JSON.stringify({ ...present, ...metrics, ...own }) })
    .where("id", "=", row.id)
    .execute();
}

function versionOf(row: Selectable<ModelVersionTable>): ModelVersion {
  return {
    id: row.id,
    modelId: row.model_id,
    step: row.step,
    adapterFolder: row.adapter_folder,
    trainerState: row.trainer_state,
    jobId: row.job_id,
    metrics: JSON.parse(row.metrics) as ModelVersion["metrics"],
    isPinned: row.is_pinned === 1,
    base: row.base,
    adapterHash: row.adapter_hash,
    // Safe cast: only this file writes the column.
    copiedKind: row.copied_kind as ModelVersion["copiedKind"],
    ...savedOf(row),
    // Safe cast: learning/held-versions.ts wrote this JSON.
    ...(row.held === null ? {} : { held: JSON.parse(row.held) as HeldVersion }),
    createdAt: new Date(row.created_at),
  };
}

function savedOf({
  saved_as: id,
  saved_metadata: about,
  expires_at: at,
}: Selectable<ModelVersionTable>): Pick<ModelVersion, "saved"> {
  if (id === null || about === null) return {};
  // Safe cast: only this file writes the column.
  const { metadata, baseName } = JSON.parse(about) as Pick<SavedName, "metadata" | "baseName">;
  return { saved: { id, expiresAt: at === null ? null : new Date(at), metadata, baseName } };
}

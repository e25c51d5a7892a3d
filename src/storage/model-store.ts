// Trained models and their versions. A deleted version keeps its row: its step is never used again.
import type { Kysely, Selectable, Transaction } from "kysely";
import type { ModelStore, ModelVersion, TrainedModel } from "../domain/model.ts";
import { ServiceError } from "../domain/service-error.ts";
import { readPage } from "./paging.ts";
import { nextSequence } from "./sequences.ts";
import type { ModelTable, ModelVersionTable, Schema } from "./schema.ts";

/** The model store on a migrated database. */
export function createModelStore(database: Kysely<Schema>): ModelStore {
  return {
    create: (model, versionZero) =>
      database.transaction().execute(async (transaction) => {
        await insertModel(transaction, model);
        await insertVersion(transaction, versionZero);
      }),
    find: async (id) => {
      const row = await database.selectFrom("models").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : modelOf(row);
    },
    findByName: async (entity, project, name) => {
      const row = await database
        .selectFrom("models")
        .selectAll()
        .where("entity", "=", entity)
        .where("project", "=", project)
        .where("name", "=", name)
        .executeTakeFirst();
      return row === undefined ? null : modelOf(row);
    },
    findByShortName: async (entity, project, name, limit) => {
      let query = database.selectFrom("models").selectAll().where("name", "=", name);
      if (entity !== null) query = query.where("entity", "=", entity);
      if (project !== null) query = query.where("project", "=", project);
      return (await query.orderBy("sequence", "desc").limit(limit).execute()).map(modelOf);
    },
    list: ({ entity, project, name }, page) => {
      let rows = database.selectFrom("models").selectAll();
      if (entity !== null) rows = rows.where("entity", "=", entity);
      if (project !== null) rows = rows.where("project", "=", project);
      if (name !== null) rows = rows.where("name", "=", name);
      const orderValueOf = async (id: string) =>
        (await rows.where("id", "=", id).executeTakeFirst())?.sequence;
      return readPage(
        { rows, orderColumn: "sequence", contentColumns: [], orderValueOf, itemOf: modelOf },
        page,
      );
    },
    delete: async (id) => {
      const result = await database.deleteFrom("models").where("id", "=", id).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
    ...versionQueries(database),
  };
}

type VersionQueries = Pick<
  ModelStore,
  | "newestVersion"
  | "greatestStep"
  | "findVersion"
  | "listVersions"
  | "deleteVersions"
  | "dropTrainerStates"
  | "updateVersionMetrics"
>;

function versionQueries(database: Kysely<Schema>): VersionQueries {
  const liveVersions = (modelId: string) =>
    database
      .selectFrom("model_versions")
      .selectAll()
      .where("model_id", "=", modelId)
      .where("is_deleted", "=", 0);
  return {
    newestVersion: async (modelId) => {
      const row = await liveVersions(modelId).orderBy("step", "desc").limit(1).executeTakeFirst();
      return row === undefined ? null : versionOf(row);
    },
    greatestStep: async (modelId) => {
      const row = await database
        .selectFrom("model_versions")
        .select(({ fn }) => fn.max("step").as("step"))
        .where("model_id", "=", modelId)
        .executeTakeFirst();
      return row?.step ?? 0;
    },
    findVersion: async (modelId, step) => {
      const row = await liveVersions(modelId).where("step", "=", step).executeTakeFirst();
      return row === undefined ? null : versionOf(row);
    },
    listVersions: (modelId, page) =>
      readPage(
        {
          rows: liveVersions(modelId),
          orderColumn: "step",
          contentColumns: ["metrics", "trainer_state"],
          // A deleted version still has its place.
          orderValueOf: async (id) => {
            const version = database.selectFrom("model_versions").select("step").where("id", "=", id);
            return (await version.where("model_id", "=", modelId).executeTakeFirst())?.step;
          },
          itemOf: versionOf,
        },
        page,
      ),
    deleteVersions: (modelId, steps) =>
      database.transaction().execute((transaction) => deleteVersions(transaction, modelId, steps)),
    dropTrainerStates: (modelId, keptCount) =>
      database.transaction().execute((transaction) => dropTrainerStates(transaction, modelId, keptCount)),
    updateVersionMetrics: (modelId, step, metrics) =>
      database.transaction().execute((transaction) => layMetrics(transaction, modelId, step, metrics)),
  };
}

async function deleteVersions(
  transaction: Transaction<Schema>,
  modelId: string,
  steps: readonly number[],
): Promise<{ readonly deleted: readonly number[]; readonly notFound: readonly number[] }> {
  const deleted: number[] = [];
  const notFound: number[] = [];
  for (const step of new Set(steps)) {
    const version = await transaction
      .updateTable("model_versions")
      // Step 0 counts as deleted and stays.
      .set({ is_deleted: step === 0 ? 0 : 1 })
      .where("model_id", "=", modelId)
      .where("step", "=", step)
      .where("is_deleted", "=", 0)
      .returning("id")
      .executeTakeFirst();
    (version === undefined ? notFound : deleted).push(step);
  }
  return { deleted, notFound };
}

async function dropTrainerStates(
  transaction: Transaction<Schema>,
  modelId: string,
  keptCount: number,
): Promise<readonly string[]> {
  const withState = await transaction
    .selectFrom("model_versions")
    .select(["id", "trainer_state", "is_deleted"])
    .where("model_id", "=", modelId)
    .where("trainer_state", "is not", null)
    .orderBy("step", "desc")
    .execute();
  const kept = new Set(withState.filter((version) => version.is_deleted === 0).slice(0, keptCount));
  const dropped: string[] = [];
  for (const version of withState) {
    if (version.trainer_state === null || kept.has(version)) continue;
    await transaction
      .updateTable("model_versions")
      .set({ trainer_state: null })
      .where("id", "=", version.id)
      .execute();
    dropped.push(version.trainer_state);
  }
  return dropped;
}

async function insertModel(transaction: Transaction<Schema>, model: TrainedModel): Promise<void> {
  const result = await transaction
    .insertInto("models")
    .values({
      id: model.id,
      sequence: await nextSequence(transaction, "models"),
      entity: model.entity,
      project: model.project,
      name: model.name,
      base_model: model.baseModel,
      created_at: model.createdAt.toISOString(),
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (result.numInsertedOrUpdatedRows !== 1n) {
    throw new ServiceError({
      code: "conflict",
      message: `A model named ${JSON.stringify(`${model.entity}/${model.project}/${model.name}`)} exists already. Use it, or choose another name.`,
    });
  }
}

/** Stores a version inside the caller's transaction; throws `conflict` when its step or its job has one already. */
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

/**
 * Lays metrics over those of a live version, but for those it came with, inside the caller's transaction; nothing happens
 * when there is none.
 */
export async function layMetrics(
  transaction: Transaction<Schema>,
  modelId: string,
  step: number,
  metrics: Readonly<Record<string, number>>,
): Promise<void> {
  const row = await transaction
    .updateTable("model_versions")
    // Writing the row keeps it from others until the transaction ends: what is read here is what is laid over.
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

function modelOf(row: Selectable<ModelTable>): TrainedModel {
  return {
    id: row.id,
    entity: row.entity,
    project: row.project,
    name: row.name,
    baseModel: row.base_model,
    createdAt: new Date(row.created_at),
  };
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
    createdAt: new Date(row.created_at),
  };
}

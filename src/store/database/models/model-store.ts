// Stores trained models; version-store.ts stores their versions.
import { type Expression, type Selectable, sql, type SqlBool, type Transaction } from "kysely";
import type { ModelStore, ProjectionName, TrainedModel } from "../../../base/domain/model.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Connection } from "../dialect.ts";
import { readPage, nextSequence } from "../paging.ts";
import type { ModelTable, Schema } from "../schema.ts";
import { insertVersion, versionQueries } from "./version-store.ts";

/** Creates the model store on a migrated database. */
export function createModelStore(connection: Pick<Connection, "queries" | "form">): ModelStore {
  const { queries: database, form } = connection;
  return {
    create: (model, versionZero, copied) =>
      database.transaction().execute(async (transaction) => {
        await insertModel(transaction, model);
        await insertVersion(transaction, versionZero);
        if (copied !== undefined) await insertVersion(transaction, copied);
      }),
    find: async (id) => {
      const row = await database.selectFrom("models").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : modelOf(row);
    },
    findMany: async (ids) => {
      // Returns early, because an empty list is invalid SQL.
      if (ids.length === 0) return [];
      return (await database.selectFrom("models").selectAll().where("id", "in", ids).execute()).map(modelOf);
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
    list: ({ entity, project, name, text, learns }, page) => {
      let rows = database.selectFrom("models").selectAll();
      if (entity !== null) rows = rows.where("entity", "=", entity);
      if (project !== null) rows = rows.where("project", "=", project);
      if (name !== null) rows = rows.where("name", "=", name);
      if (learns) rows = rows.where("id", "in", database.selectFrom("learning").select("model_id"));
      if (text !== undefined) rows = rows.where(nameContains(form, text));
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
    ...versionQueries(connection),
  };
}

/** Returns the condition that a model's full name contains a text. The letters A to Z match in either case. */
export function nameContains(form: Connection["form"], text: string): Expression<SqlBool> {
  const fullName = sql<string>`entity || '/' || project || '/' || name`;
  return sql`${form.position(form.lower(fullName), form.lower(sql`${text}`))} > 0`;
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
      adapter_rank: model.adapter.rank,
      adapter_alpha: model.adapter.alpha,
      adapter_targets: model.adapter.targets === null ? null : JSON.stringify(model.adapter.targets),
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

function modelOf(row: Selectable<ModelTable>): TrainedModel {
  return {
    id: row.id,
    entity: row.entity,
    project: row.project,
    name: row.name,
    baseModel: row.base_model,
    adapter: {
      rank: row.adapter_rank,
      alpha: row.adapter_alpha,
      // Safe cast: `insertModel` wrote this JSON.
      targets: row.adapter_targets === null ? null : (JSON.parse(row.adapter_targets) as ProjectionName[]),
    },
    createdAt: new Date(row.created_at),
  };
}

// Logged trajectories and the metric history of each model.
import type { Kysely, Selectable } from "kysely";
import { notFound } from "../domain/service-error.ts";
import type { PageRequest } from "../domain/page.ts";
import type { MetricRow, TrajectoryGroup, TrajectoryStore } from "../domain/trajectory.ts";
import { groupOf, writeGroups } from "./groups.ts";
import { layMetrics } from "./model-store.ts";
import { pageOf, pageWindow } from "./paging.ts";
import type { Schema, TrajectoryLogTable } from "./schema.ts";

/** The trajectory store on a migrated database. */
export function createTrajectoryStore(database: Kysely<Schema>): TrajectoryStore {
  const listRows = (modelId: string, split: string | null, page: PageRequest) =>
    listLogRows(database, modelId, split, page);
  return {
    append: (log) =>
      database.transaction().execute(async (transaction) => {
        const model = await transaction
          .selectFrom("models")
          .select("id")
          .where("id", "=", log.modelId)
          .executeTakeFirst();
        if (model === undefined) throw notFound("model", log.modelId);
        await transaction
          .insertInto("trajectory_logs")
          .values({
            id: log.id,
            model_id: log.modelId,
            split: log.split,
            step: log.step,
            recorded_at: log.recordedAt.toISOString(),
            metrics: JSON.stringify(log.metrics),
          })
          .execute();
        await writeGroups(log.groups, (groupIndex, content) =>
          transaction
            .insertInto("trajectory_groups")
            .values({ log_id: log.id, group_index: groupIndex, content })
            .execute(),
        );
        await layMetrics(transaction, log.modelId, log.step, log.metrics);
      }),
    list: async (modelId, { split }, page) => {
      const rows = await listRows(modelId, split, page);
      const { items, hasMore } = pageOf(rows, page, metricRowOf);
      const logs = [];
      for (const item of items) logs.push({ ...item, groups: await findGroups(database, item.id) });
      return { items: logs, hasMore };
    },
    listMetrics: async (modelId, { split }, page) =>
      pageOf(await listRows(modelId, split, page), page, metricRowOf),
    newestMetrics: async (modelId) => {
      const row = await database
        .selectFrom("trajectory_logs")
        .selectAll()
        .where("model_id", "=", modelId)
        .orderBy("position", "desc")
        .limit(1)
        .executeTakeFirst();
      return row === undefined ? null : metricRowOf(row);
    },
  };
}

async function listLogRows(
  database: Kysely<Schema>,
  modelId: string,
  split: string | null,
  page: PageRequest,
): Promise<readonly Selectable<TrajectoryLogTable>[]> {
  const window = await pageWindow(page, async (id) => {
    const row = await database
      .selectFrom("trajectory_logs")
      .select("position")
      .where("model_id", "=", modelId)
      .where("id", "=", id)
      .executeTakeFirst();
    return row?.position;
  });
  let query = database
    .selectFrom("trajectory_logs")
    .selectAll()
    .where("model_id", "=", modelId)
    .orderBy("position", window.order)
    .limit(window.rowCountMax);
  if (split !== null) query = query.where("split", "=", split);
  if (window.afterValue !== null) query = query.where("position", window.comparison, window.afterValue);
  return await query.execute();
}

async function findGroups(database: Kysely<Schema>, logId: string): Promise<readonly TrajectoryGroup[]> {
  const rows = await database
    .selectFrom("trajectory_groups")
    .select("content")
    .where("log_id", "=", logId)
    .orderBy("group_index")
    .execute();
  return rows.map((row) => groupOf(row.content));
}

function metricRowOf(row: Selectable<TrajectoryLogTable>): MetricRow {
  return {
    id: row.id,
    modelId: row.model_id,
    split: row.split,
    step: row.step,
    recordedAt: new Date(row.recorded_at),
    metrics: JSON.parse(row.metrics) as MetricRow["metrics"],
  };
}

// Stores logged trajectories, the history of each model's metrics, and the totals from which a model's running sums
// continue.
import { createHash } from "node:crypto";
import type { Selectable, Transaction } from "kysely";
import { notFound } from "../../base/domain/service-error.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import type {
  CombinedLogs,
  EarlierLogs,
  Metrics,
  TrajectoryLog,
  TrajectoryLogDraft,
  TrajectoryStore,
} from "../../base/domain/trajectory.ts";
import type { Connection } from "./dialect.ts";
import { stageGroups, readStoredLines } from "./groups.ts";
import { mergeMetrics } from "./models/version-store.ts";
import { countOutlines, findOutline, outlinePage, storeOutlines } from "./summaries.ts";
import { readPage } from "./paging.ts";
import { trajectoriesWithWords } from "./searches/trajectory-words.ts";
import { addModelBytes } from "./retention/model-bytes.ts";
import type { Schema, TrajectoryLogTable } from "./schema.ts";

/** Maximum number of scenarios in one SQL statement; each has two parameters. */
const scenariosPerStatement = 500;

/** Creates the trajectory store on a migrated database. */
export function createTrajectoryStore(
  connection: Pick<Connection, "queries" | "writeEarly" | "form" | "searches">,
): TrajectoryStore {
  const { queries: database } = connection;
  const findLog = (id: string) =>
    database.selectFrom("trajectory_logs").where("id", "=", id).where("removed_at", "is", null);
  return {
    append: (log, measure, combine) => appendLog(connection, log, { measure, combine }),
    find: async (id) => {
      const row = await findLog(id).selectAll().executeTakeFirst();
      return row === undefined ? null : logOf(row);
    },
    list: (modelId, { split, step = null, recordedFrom = null, recordedBefore = null }, page) => {
      let rows = database
        .selectFrom("trajectory_logs")
        .selectAll()
        .where("model_id", "=", modelId)
        .where("removed_at", "is", null);
      if (split !== null) rows = rows.where("split", "=", split);
      if (step !== null) rows = rows.where("step", "=", step);
      if (recordedFrom !== null) rows = rows.where("recorded_at", ">=", recordedFrom.toISOString());
      if (recordedBefore !== null) rows = rows.where("recorded_at", "<", recordedBefore.toISOString());
      return readPage(
        {
          rows,
          orderColumn: "sequence",
          contentColumns: ["metrics"],
          orderValueOf: async (id) =>
            (await findLog(id).select("sequence").where("model_id", "=", modelId).executeTakeFirst())
              ?.sequence,
          itemOf: logOf,
        },
        page,
      );
    },
    lines: async (logId, from) => {
      const log = await findLog(logId).select("id").executeTakeFirst();
      return log === undefined ? null : readStoredLines(database, "trajectory_groups", logId, from);
    },
    listOutlines: (modelId, filter, page) => outlinePage(connection, modelId, filter, page),
    findOutline: (modelId, number) => findOutline(database, modelId, number),
    findWords: (outlines, words, turn) => trajectoriesWithWords(connection, outlines, words, turn),
    countOutlines: (modelId, step) => countOutlines(database, modelId, step),
  };
}

interface Measures {
  readonly measure: (earlier: EarlierLogs) => Metrics;
  readonly combine: ((earlier: JsonObject | null) => CombinedLogs) | undefined;
}

async function appendLog(
  connection: Pick<Connection, "queries" | "writeEarly">,
  log: TrajectoryLogDraft,
  measures: Measures,
): Promise<Metrics> {
  let contentBytes = 0;
  const groups = await stageGroups(
    connection,
    {
      table: "trajectory_groups",
      ownerId: log.id,
      lines: log.lines,
      onLine: (line) => (contentBytes += Buffer.byteLength(line)),
    },
    async () => true,
  );
  try {
    return await connection.queries.transaction().execute(async (transaction) => {
      const metrics = await insertLog(transaction, log, measures);
      await groups.finish(transaction);
      await addContentBytes(transaction, log, contentBytes);
      return metrics;
    });
  } catch (error) {
    await groups.discard();
    throw error;
  }
}

async function insertLog(
  transaction: Transaction<Schema>,
  log: TrajectoryLogDraft,
  { measure, combine }: Measures,
): Promise<Metrics> {
  const sequence = await nextLogSequence(transaction, log.modelId);
  const scenarioCount = await addScenarios(transaction, log);
  const metrics = measure({ metrics: await newestMetrics(transaction, log.modelId), scenarioCount });
  const combined = combine?.(await newestTally(transaction, log));
  await transaction
    .insertInto("trajectory_logs")
    .values({
      id: log.id,
      model_id: log.modelId,
      sequence,
      split: log.split,
      step: log.step,
      recorded_at: log.recordedAt.toISOString(),
      metrics: JSON.stringify(metrics),
      group_count: log.groupCount,
      content_bytes: 0,
      tally: combined === undefined ? null : JSON.stringify(combined.tally),
    })
    .execute();
  const { id: sourceId, modelId, split, step, recordedAt, outlines } = log;
  await storeOutlines(transaction, { modelId, source: "log", sourceId, split, step, recordedAt, outlines });
  await mergeMetrics(transaction, log.modelId, log.step, { ...metrics, ...combined?.metrics });
  return metrics;
}

async function addContentBytes(
  transaction: Transaction<Schema>,
  { id, modelId }: TrajectoryLogDraft,
  bytes: number,
): Promise<void> {
  await transaction
    .updateTable("trajectory_logs")
    .set({ content_bytes: bytes })
    .where("id", "=", id)
    .execute();
  await addModelBytes(transaction, "log_bytes", modelId, bytes);
}

/**
 * Returns the combined measurements of a version's logs under the split; null if there are none. The row of the newest
 * such log contains them.
 */
async function newestTally(
  transaction: Transaction<Schema>,
  { modelId, split, step }: Pick<TrajectoryLogDraft, "modelId" | "split" | "step">,
): Promise<JsonObject | null> {
  const row = await transaction
    .selectFrom("trajectory_logs")
    .select("tally")
    .where("model_id", "=", modelId)
    .where("split", "=", split)
    .where("step", "=", step)
    .where("tally", "is not", null)
    .orderBy("sequence", "desc")
    .limit(1)
    .executeTakeFirst();
  // Safe cast: `appendLog` wrote this JSON.
  return row?.tally ? (JSON.parse(row.tally) as JsonObject) : null;
}

/**
 * Takes the number of a new log within its model. Other writers of the model's logs wait until the transaction ends.
 */
async function nextLogSequence(transaction: Transaction<Schema>, modelId: string): Promise<number> {
  const model = await transaction
    .updateTable("models")
    .set((row) => ({ last_log_sequence: row("last_log_sequence", "+", 1) }))
    .where("id", "=", modelId)
    .returning("last_log_sequence")
    .executeTakeFirst();
  if (model === undefined) throw notFound("model", modelId);
  return model.last_log_sequence;
}

/** Adds those scenarios that are new to the model. Returns the model's number of distinct scenarios. */
async function addScenarios(
  transaction: Transaction<Schema>,
  { modelId, scenarioIds }: TrajectoryLogDraft,
): Promise<number> {
  const hashes = [...new Set(scenarioIds)].map((id) =>
    createHash("sha256").update(JSON.stringify(id)).digest("hex"),
  );
  let addedCount = 0;
  for (let start = 0; start < hashes.length; start += scenariosPerStatement) {
    const rows = hashes
      .slice(start, start + scenariosPerStatement)
      .map((hash) => ({ model_id: modelId, scenario_hash: hash }));
    const added = await transaction
      .insertInto("model_scenarios")
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    addedCount += Number(added.numInsertedOrUpdatedRows);
  }
  const model = await transaction
    .updateTable("models")
    .set((row) => ({ scenario_count: row("scenario_count", "+", addedCount) }))
    .where("id", "=", modelId)
    .returning("scenario_count")
    .executeTakeFirstOrThrow();
  return model.scenario_count;
}

async function newestMetrics(transaction: Transaction<Schema>, modelId: string): Promise<Metrics> {
  const row = await transaction
    .selectFrom("trajectory_logs")
    .select("metrics")
    .where("model_id", "=", modelId)
    .orderBy("sequence", "desc")
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? {} : metricsOf(row.metrics);
}

function logOf(row: Selectable<TrajectoryLogTable>): TrajectoryLog {
  return {
    id: row.id,
    modelId: row.model_id,
    split: row.split,
    step: row.step,
    recordedAt: new Date(row.recorded_at),
    metrics: metricsOf(row.metrics),
    groupCount: row.group_count,
    contentBytes: row.content_bytes,
  };
}

function metricsOf(text: string): Metrics {
  // Safe cast: `appendLog` wrote this JSON.
  return JSON.parse(text) as Metrics;
}

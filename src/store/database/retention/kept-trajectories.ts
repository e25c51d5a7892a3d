// Retention rules for trajectory logs, ordered by the time of recording.
import { sql, type Transaction } from "kysely";
import { bytesIn } from "./entity-bytes.ts";
import { addModelBytes, type ModelBytes } from "./model-bytes.ts";
import type { Schema } from "../schema.ts";
import { bytesBy, keyText, type KeptRows, type KeptRow } from "./kept-rows.ts";

export function keptTrajectories(): KeptRows {
  return {
    window: async (queries, after, _scope, limit) => {
      const behind = after === null ? sql`` : sql`and (log.recorded_at, log.id) > (${after[0]}, ${after[1]})`;
      const { rows } = await sql<LogRow>`
        select log.recorded_at as at, log.id, log.model_id, model.entity, log.content_bytes as bytes
        from trajectory_logs as log join models as model on model.id = log.model_id
        where log.removed_at is null ${behind}
        order by log.recorded_at, log.id limit ${limit}`.execute(queries);
      return rows.map(rowOf);
    },
    ...bytesIn("log_bytes"),
    // Keeps the newest log of each model in any case, because the model's running sums continue from it.
    needed: async (queries, rows) => {
      const newest = await queries
        .selectFrom("trajectory_logs")
        .innerJoin("models", (join) =>
          join
            .onRef("models.id", "=", "trajectory_logs.model_id")
            .onRef("models.last_log_sequence", "=", "trajectory_logs.sequence"),
        )
        .select(["trajectory_logs.recorded_at", "trajectory_logs.id"])
        .where("trajectory_logs.id", "in", rows.map(idOf))
        .execute();
      return new Set(newest.map(({ recorded_at, id }) => keyText([recorded_at, id])));
    },
    remove: async (transaction, rows, at) => {
      const marked = await transaction
        .updateTable("trajectory_logs")
        .set({ removed_at: at.toISOString() })
        .where("id", "in", rows.map(idOf))
        .where("removed_at", "is", null)
        .returning("id")
        .execute();
      return subtractRemoved(transaction, "log_bytes", rows, marked);
    },
  };
}

interface LogRow {
  readonly at: string;
  readonly id: string;
  readonly model_id: string;
  readonly entity: string;
  readonly bytes: number;
}

/** Converts a log's row, whose key consists of a time and an id. */
export function rowOf({ at, id, model_id: modelId, entity, bytes }: LogRow): KeptRow {
  return { key: [at, id], entity, modelId, at, byteCount: bytes };
}

export function idOf({ key }: KeptRow): string {
  return String(key[1]);
}

/**
 * Subtracts the sizes of removed rows from the byte counts of their models.
 *
 * @returns the removed rows
 */
export async function subtractRemoved(
  transaction: Transaction<Schema>,
  column: ModelBytes,
  rows: readonly KeptRow[],
  marked: readonly { readonly id: string }[],
): Promise<readonly KeptRow[]> {
  const ids = new Set(marked.map(({ id }) => id));
  const removed = rows.filter((row) => ids.has(idOf(row)));
  for (const [modelId, bytes] of bytesBy(removed, (row) => row.modelId))
    await addModelBytes(transaction, column, modelId, -bytes);
  return removed;
}

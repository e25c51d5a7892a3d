// Counts the bytes that are stored for each model. The count is a column of the model's row, so it is deleted with the
// model. Transactions that write or remove data update it.
import { type Kysely, sql, type Transaction } from "kysely";
import type { Schema } from "../schema.ts";
import { type Behind, isBehind, type Surplus } from "./kept-rows.ts";

export type ModelBytes = "log_bytes" | "job_bytes" | "completion_bytes";

/** Adds a number of bytes, which may be negative, to a model's count. Locks the model's row against other writers. */
export async function addModelBytes(
  transaction: Transaction<Schema>,
  column: ModelBytes,
  modelId: string,
  bytes: number,
): Promise<void> {
  if (bytes === 0) return;
  await sql`update models set ${sql.ref(column)} = ${sql.ref(column)} + ${bytes} where id = ${modelId}`.execute(
    transaction,
  );
}

export async function findEntityOverLimit(
  queries: Kysely<Schema>,
  column: ModelBytes,
  behind: Behind,
  bytes: number,
): Promise<Surplus | null> {
  const { rows } = await sql<{ readonly entity: string; readonly bytes: number }>`
    select entity, sum(${sql.ref(column)}) as bytes from models where ${isBehind(sql`entity`, behind)}
    group by entity having sum(${sql.ref(column)}) > ${bytes} order by entity limit 1`.execute(queries);
  return rows.length === 0 ? null : { of: rows[0].entity, amount: rows[0].bytes - bytes };
}

export async function storedOfModels(
  queries: Kysely<Schema>,
  column: ModelBytes,
  entity: string | null,
): Promise<number> {
  const ofEntity = entity === null ? sql`` : sql`where entity = ${entity}`;
  const { rows } = await sql<{ readonly bytes: number | null }>`
    select sum(${sql.ref(column)}) as bytes from models ${ofEntity}`.execute(queries);
  return rows[0]?.bytes ?? 0;
}

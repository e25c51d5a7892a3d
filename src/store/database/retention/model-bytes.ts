// Counts the bytes that are stored for each model. The count is a column of the model's row, so it is deleted with the
// model. Transactions that write or remove data update it.
import { sql, type Transaction } from "kysely";
import type { Schema } from "../schema.ts";

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

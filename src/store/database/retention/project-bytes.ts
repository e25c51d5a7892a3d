// Counts the bytes that are stored for each project's feedback and its history, in one row per project. Transactions
// that store or remove data update this row last, because that locks it.
import { sql, type Transaction } from "kysely";
import type { Schema } from "../schema.ts";

export type ProjectBytes = "record_bytes" | "revision_bytes";

/**
 * Adds a number of bytes, which may be negative, to a project's count. Locks the project's row against other writers.
 */
export async function addProjectBytes(
  transaction: Transaction<Schema>,
  column: ProjectBytes,
  projectId: string,
  bytes: number,
): Promise<void> {
  if (bytes === 0) return;
  const name = sql.ref(column);
  await sql`
    insert into project_bytes (project_id, entity, ${name}) values (${projectId}, ${projectId.split("/", 1)[0]}, ${bytes})
    on conflict (project_id) do update set ${name} = project_bytes.${name} + excluded.${name}`.execute(
    transaction,
  );
}

// Counts the bytes that are stored for each project's feedback and its history, in one row per project. Transactions
// that store or remove data update this row last, because that locks it.
import { type Kysely, sql, type Transaction } from "kysely";
import type { Schema } from "../schema.ts";
import { type Behind, isBehind, type Surplus } from "./kept-rows.ts";

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

export async function findProjectsOverLimit(
  queries: Kysely<Schema>,
  column: ProjectBytes,
  behind: Behind,
  bytes: number,
): Promise<Surplus | null> {
  const { rows } = await sql<{ readonly entity: string; readonly bytes: number }>`
    select entity, sum(${sql.ref(column)}) as bytes from project_bytes where ${isBehind(sql`entity`, behind)}
    group by entity having sum(${sql.ref(column)}) > ${bytes} order by entity limit 1`.execute(queries);
  return rows.length === 0 ? null : { of: rows[0].entity, amount: rows[0].bytes - bytes };
}

export async function storedOfProjects(
  queries: Kysely<Schema>,
  column: ProjectBytes,
  entity: string | null,
): Promise<number> {
  const ofEntity = entity === null ? sql`` : sql`where entity = ${entity}`;
  const { rows } = await sql<{ readonly bytes: number | null }>`
    select sum(${sql.ref(column)}) as bytes from project_bytes ${ofEntity}`.execute(queries);
  return rows[0]?.bytes ?? 0;
}

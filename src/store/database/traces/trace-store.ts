// Creates the stores for traces, and deletes all traces of a project.
import { sql, type Kysely, type RawBuilder } from "kysely";
import type { TraceStore } from "../../../base/domain/traces/trace-store.ts";
import type { Connection } from "../dialect.ts";
import type { Schema } from "../schema.ts";
import { createCallStore } from "./call-store.ts";
import { createTableStore, lockTables } from "./table-store.ts";
import { createTracedFileStore } from "./traced-file-store.ts";

/** Maximum number of rows that one statement deletes. */
const rowsMax = 1000;

/** Creates the trace stores on a migrated database. */
export function createTraceStore(connection: Pick<Connection, "queries" | "form" | "searches">): TraceStore {
  const { queries: database } = connection;
  return {
    tables: createTableStore(database),
    files: createTracedFileStore(database),
    calls: createCallStore(connection),
    deleteProject: async (projectId) => {
      await deleteCalls(database, projectId);
      await deleteObjects(database, projectId);
      await deleteTables(database, projectId);
      const files = await database
        .deleteFrom("traced_files")
        .where("project_id", "=", projectId)
        .returning("file_id")
        .execute();
      return files.map(({ file_id: fileId }) => fileId);
    },
  };
}

async function deleteCalls(database: Kysely<Schema>, projectId: string): Promise<void> {
  for (;;) {
    const chunk = database
      .selectFrom("traced_calls")
      .select("id")
      .where("project_id", "=", projectId)
      .limit(rowsMax);
    const { numDeletedRows } = await database
      .deleteFrom("traced_calls")
      .where("project_id", "=", projectId)
      .where("id", "in", chunk)
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) return;
  }
}

/**
 * Deletes the objects of a project and their version counts. If a name is published again, its versions therefore start
 * at 0.
 */
async function deleteObjects(database: Kysely<Schema>, projectId: string): Promise<void> {
  for (;;) {
    const found = await database
      .selectFrom("published_names")
      .select(["kind", "name"])
      .where("project_id", "=", projectId)
      .limit(1)
      .executeTakeFirst();
    if (found === undefined) return;
    await database.transaction().execute(async (transaction) => {
      // First locks the row of the name, as publishing does.
      for (const table of ["published_names", "published_objects"] as const) {
        await transaction
          .deleteFrom(table)
          .where("project_id", "=", projectId)
          .where("kind", "=", found.kind)
          .where("name", "=", found.name)
          .execute();
      }
    });
  }
}

/** Deletes tables before their unused rows. A table that is published meanwhile therefore keeps all its rows. */
async function deleteTables(database: Kysely<Schema>, projectId: string): Promise<void> {
  await database.deleteFrom("traced_tables").where("project_id", "=", projectId).execute();
  await deleteInChunks(
    database,
    () => sql`
      delete from traced_table_rows where project_id = ${projectId} and (table_digest, row_index) in (
        select table_digest, row_index from traced_table_rows as place
        where project_id = ${projectId} and not exists (
          select 1 from traced_tables
          where traced_tables.project_id = place.project_id and traced_tables.digest = place.table_digest
        )
        limit ${rowsMax}
      )`,
  );
  await deleteInChunks(
    database,
    () => sql`
      delete from traced_rows where project_id = ${projectId} and digest in (
        select digest from traced_rows as content
        where project_id = ${projectId} and not exists (
          select 1 from traced_table_rows as place
          where place.project_id = content.project_id and place.row_digest = content.digest
        )
        limit ${rowsMax}
      )`,
  );
}

/** Deletes rows in chunks, each in a transaction of its own. No table can be created during such a transaction. */
async function deleteInChunks(database: Kysely<Schema>, deletion: () => RawBuilder<unknown>): Promise<void> {
  for (;;) {
    const count = await database.transaction().execute(async (transaction) => {
      await lockTables(transaction);
      const { numAffectedRows = 0n } = await deletion().execute(transaction);
      return numAffectedRows;
    });
    if (count === 0n) return;
  }
}

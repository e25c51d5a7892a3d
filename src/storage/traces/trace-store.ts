// All that is stored of traces, and how a project's is removed.
import type { Kysely } from "kysely";
import type { TraceStore } from "../../domain/traces/trace-store.ts";
import type { Schema } from "../schema.ts";
import { createCallStore } from "./call-store.ts";
import { createTableStore } from "./table-store.ts";
import { createTracedFileStore } from "./traced-file-store.ts";

/** Calls removed by one statement. */
const rowsMax = 500;

/** The trace stores on a migrated database. */
export function createTraceStore(database: Kysely<Schema>): TraceStore {
  return {
    tables: createTableStore(database),
    files: createTracedFileStore(database),
    calls: createCallStore(database),
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
    const portion = database
      .selectFrom("traced_calls")
      .select("id")
      .where("project_id", "=", projectId)
      .limit(rowsMax);
    const { numDeletedRows } = await database
      .deleteFrom("traced_calls")
      .where("project_id", "=", projectId)
      .where("id", "in", portion)
      .executeTakeFirstOrThrow();
    if (numDeletedRows === 0n) return;
  }
}

/** The counts of versions go too: a name that comes again begins at version 0. */
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
      // The name's row first, as by who publishes.
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

/** Each in one transaction: who publishes the same table again meanwhile waits, and then stores all of it. */
async function deleteTables(database: Kysely<Schema>, projectId: string): Promise<void> {
  for (;;) {
    const table = await database
      .selectFrom("traced_tables")
      .select("digest")
      .where("project_id", "=", projectId)
      .limit(1)
      .executeTakeFirst();
    if (table === undefined) return;
    await database.transaction().execute(async (transaction) => {
      await transaction
        .deleteFrom("traced_tables")
        .where("project_id", "=", projectId)
        .where("digest", "=", table.digest)
        .execute();
      await transaction
        .deleteFrom("traced_rows")
        .where("project_id", "=", projectId)
        .where("table_digest", "=", table.digest)
        .execute();
    });
  }
}

// Tables of rows, which are rows of their own: a table may be larger than any statement.
import type { Kysely, Transaction } from "kysely";
import { fittingCount, pageBytesMax } from "../../domain/page.ts";
import type { TableRow, TableStore } from "../../domain/traces/traced-table.ts";
import { sizeOf } from "../paging.ts";
import { portions } from "../portions.ts";
import type { Schema } from "../schema.ts";

/** Of one statement. */
const rowsMax = 500;

/** The table store on a migrated database. */
export function createTableStore(database: Kysely<Schema>): TableStore {
  return {
    create: ({ projectId, digest, createdAt }, rows) =>
      database.transaction().execute(async (transaction) => {
        const inserted = await transaction
          .insertInto("traced_tables")
          .values({
            project_id: projectId,
            digest,
            row_count: rows.length,
            created_at: createdAt.toISOString(),
          })
          .onConflict((conflict) => conflict.doNothing())
          .returning("digest")
          .execute();
        if (inserted.length > 0) await insertRows(transaction, { projectId, digest, rows });
      }),
    count: async (projectId, digest) => {
      const row = await database
        .selectFrom("traced_tables")
        .select("row_count")
        .where("project_id", "=", projectId)
        .where("digest", "=", digest)
        .executeTakeFirst();
      return row?.row_count ?? null;
    },
    rows: async (projectId, digest, rowDigests, { limit, offset, bytesMax = pageBytesMax }) => {
      if (rowDigests?.length === 0) return [];
      let rows = database
        .selectFrom("traced_rows")
        .where("project_id", "=", projectId)
        .where("table_digest", "=", digest)
        .orderBy("row_index")
        .offset(offset);
      if (rowDigests !== null) rows = rows.where("digest", "in", rowDigests);
      const sizes = await rows
        .select(sizeOf(["value"]).as("bytes"))
        .limit(limit)
        .execute();
      const fitting = fittingCount(
        sizes.map(({ bytes }) => bytes),
        bytesMax,
      );
      if (fitting === 0) return [];
      const found = await rows.select(["row_index", "digest", "value"]).limit(fitting).execute();
      return found.map((row) => ({ index: row.row_index, digest: row.digest, value: row.value }));
    },
  };
}

async function insertRows(
  transaction: Transaction<Schema>,
  table: { readonly projectId: string; readonly digest: string; readonly rows: readonly TableRow[] },
): Promise<void> {
  let index = 0;
  for (const portion of portions(table.rows, { rowsMax, lengthOf: ({ value }) => value.length })) {
    const start = index;
    await transaction
      .insertInto("traced_rows")
      .values(
        portion.map(({ digest, value }, place) => ({
          project_id: table.projectId,
          table_digest: table.digest,
          row_index: start + place,
          digest,
          value,
        })),
      )
      .execute();
    index += portion.length;
  }
}

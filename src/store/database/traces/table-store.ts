// Stores published tables. A table is a list of the digests of its rows, and may have any length. Each distinct row is
// stored once per project.
import type { Kysely, Transaction } from "kysely";
import { fittingCount, pageBytesMax } from "../../../base/domain/page.ts";
import { notFound } from "../../../base/domain/service-error.ts";
import type { TableName, TableRow, TableStore } from "../../../base/domain/traces/traced-table.ts";
import { sizeOf, nextSequence } from "../paging.ts";
import { chunkRows } from "../chunks.ts";
import type { Schema } from "../schema.ts";

/** Maximum number of rows in one SQL statement. */
const rowsMax = 500;

/** Creates the table store on a migrated database. */
export function createTableStore(database: Kysely<Schema>): TableStore {
  return {
    create: (table, rows) =>
      created(database, table, async (transaction) => {
        let index = 0;
        for (const chunk of chunkRows(rows, { rowsMax, lengthOf: ({ value }) => value.length })) {
          await insertContents(transaction, table, chunk);
          const digests = chunk.map(({ digest }) => digest);
          await insertDigests(transaction, table, { digests, from: index });
          index += chunk.length;
        }
        return index;
      }),
    createOf: (table, rowDigests) =>
      created(database, table, async (transaction) => {
        let index = 0;
        for (const digests of chunkRows(rowDigests, { rowsMax, lengthOf: ({ length }) => length })) {
          await requireContents(transaction, table, digests);
          await insertDigests(transaction, table, { digests, from: index });
          index += digests.length;
        }
        return index;
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
        .selectFrom("traced_table_rows as place")
        .innerJoin("traced_rows as content", (join) =>
          join
            .onRef("content.project_id", "=", "place.project_id")
            .onRef("content.digest", "=", "place.row_digest"),
        )
        .where("place.project_id", "=", projectId)
        .where("place.table_digest", "=", digest)
        .orderBy("place.row_index")
        .offset(offset);
      if (rowDigests !== null) rows = rows.where("place.row_digest", "in", rowDigests);
      const sizes = await rows
        .select(sizeOf(["content.value"]).as("bytes"))
        .limit(limit)
        .execute();
      const fitting = fittingCount(
        sizes.map(({ bytes }) => bytes),
        bytesMax,
      );
      if (fitting === 0) return [];
      const found = await rows
        .select(["place.row_index", "content.digest", "content.value"])
        .limit(fitting)
        .execute();
      return found.map((row) => ({ index: row.row_index, digest: row.digest, value: row.value }));
    },
  };
}

/**
 * Creates a table and its rows in one transaction, unless the table exists.
 *
 * @param fill inserts the table's rows and returns their number
 */
function created(
  database: Kysely<Schema>,
  { projectId, digest, createdAt }: TableName,
  fill: (transaction: Transaction<Schema>) => Promise<number>,
): Promise<void> {
  return database.transaction().execute(async (transaction) => {
    await lockTables(transaction);
    const isThere = await transaction
      .selectFrom("traced_tables")
      .select("digest")
      .where("project_id", "=", projectId)
      .where("digest", "=", digest)
      .executeTakeFirst();
    if (isThere !== undefined) return;
    const rowCount = await fill(transaction);
    await transaction
      .insertInto("traced_tables")
      .values({ project_id: projectId, digest, row_count: rowCount, created_at: createdAt.toISOString() })
      .execute();
  });
}

/**
 * Locks the tables of all projects. Other transactions that create tables or delete unused rows wait until this
 * transaction ends.
 */
export async function lockTables(transaction: Transaction<Schema>): Promise<void> {
  await nextSequence(transaction, "traced tables");
}

async function insertContents(
  transaction: Transaction<Schema>,
  { projectId }: TableName,
  rows: readonly TableRow[],
): Promise<void> {
  await transaction
    .insertInto("traced_rows")
    .values(rows.map(({ digest, value }) => ({ project_id: projectId, digest, value })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/**
 * If an earlier deletion of the same table was incomplete, rows already exist at some positions. These rows are kept,
 * because tables with the same digest have the same rows.
 */
async function insertDigests(
  transaction: Transaction<Schema>,
  { projectId, digest }: TableName,
  { digests, from }: { readonly digests: readonly string[]; readonly from: number },
): Promise<void> {
  await transaction
    .insertInto("traced_table_rows")
    .values(
      digests.map((rowDigest, index) => ({
        project_id: projectId,
        table_digest: digest,
        row_index: from + index,
        row_digest: rowDigest,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

async function requireContents(
  transaction: Transaction<Schema>,
  { projectId }: TableName,
  digests: readonly string[],
): Promise<void> {
  const found = await transaction
    .selectFrom("traced_rows")
    .select("digest")
    .where("project_id", "=", projectId)
    .where("digest", "in", digests)
    .execute();
  const known = new Set(found.map(({ digest }) => digest));
  const missing = digests.find((digest) => !known.has(digest));
  if (missing !== undefined) throw notFound("row of a table", missing);
}

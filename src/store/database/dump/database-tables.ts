// Presents a database as tables of rows, which are read as a consistent snapshot, or filled from a backup in one
// transaction.
import { type Kysely, sql, type Transaction } from "kysely";
import type { Cell, DatabaseTables, TableFiller } from "../../../base/domain/backup/tables.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { Connection } from "../dialect.ts";
import { insertRows } from "../insert-rows.ts";
import { baselineVersion } from "../migrations/baseline.ts";
import {
  makeTables,
  migrate,
  newestDatabaseVersion,
  readDatabaseVersion,
  schemaTooOldError,
} from "../migrations/migrations.ts";
import { chunkRows } from "../chunks.ts";
import type { Schema } from "../schema.ts";
import { charactersOf } from "./page-of-rows.ts";
import { requireKnownVersion, requireTablesOf, tablesOfVersion } from "./tables-of-version.ts";

/** Maximum number of parameters in one SQL statement. */
const parametersMax = 4000;

/** Returns the tables of a database for a backup or a restore. The first call opens the database. */
export function databaseTables(connection: Connection): DatabaseTables {
  const { queries, name, kind } = connection;
  const version = async (): Promise<number | null> => (await readDatabaseVersion(queries))?.version ?? null;
  let closing: Promise<void> | null = null;
  return {
    name,
    kind,
    newestVersion: newestDatabaseVersion,
    tables: () => tablesOfVersion(newestDatabaseVersion),
    version,
    snapshot: async () => {
      const found = await version();
      if (found !== newestDatabaseVersion) throw otherVersion(name, found);
      return connection.openSnapshot();
    },
    requireTables: requireTablesOf,
    requireEmpty: async (copied) => void (await emptyVersion(connection, queries, copied)),
    fill: async (copied, load) => {
      await queries.transaction().execute(async (transaction) => {
        await connection.lockForMigration(transaction);
        const found = await emptyVersion(connection, transaction, copied);
        if (found === null) await makeTables(transaction, connection.form, copied);
        await load(fillerOf(connection, transaction));
      });
      await migrate(connection);
    },
    close: () => (closing ??= queries.destroy()),
  };
}

/**
 * Checks that a database contains no rows, and that its tables are those of the backup's version. Returns that version;
 * null if the database has no tables.
 */
async function emptyVersion(
  { name }: Connection,
  queries: Kysely<Schema>,
  copied: number,
): Promise<number | null> {
  requireKnownVersion(copied);
  const found = (await readDatabaseVersion(queries))?.version ?? null;
  if (found === null) return null;
  if (found !== copied)
    throw notEmpty(name, `its tables are those of version ${found}, and the copy's of ${copied}`);
  for (const { table } of await tablesOfVersion(found)) {
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(queries);
    if (rows.length > 0) throw notEmpty(name, `there are rows in its table ${table}`);
  }
  return found;
}

function fillerOf({ isMissingParent }: Connection, transaction: Transaction<Schema>): TableFiller {
  return {
    insert: async ({ table, columns }, rows) => {
      const rowsMax = Math.floor(parametersMax / columns.length);
      for (const chunk of chunkRows(rows, { rowsMax, lengthOf: charactersOf })) {
        const count = await insertChunk(table, columns, chunk);
        if (count < chunk.length) throw invalidRow(`rows of ${table} come twice`);
      }
    },
  };

  async function insertChunk(
    table: string,
    columns: readonly string[],
    rows: readonly (readonly Cell[])[],
  ): Promise<number> {
    try {
      // Safe cast: an older version may have other tables and columns than the schema, but the database checks the
      // names.
      return await insertRows(transaction, table as keyof Schema, columns as never[], rows);
    } catch (cause) {
      if (!isMissingParent(cause)) throw cause;
      throw invalidRow(`a row of ${table} refers to one that is not there`, cause);
    }
  }
}

function otherVersion(name: string, found: number | null): ServiceError {
  if (found === null)
    return new ServiceError({
      code: "not_found",
      message: `There is nothing of Hone in the database ${name}.`,
    });
  if (found < baselineVersion) return schemaTooOldError(found);
  const cure =
    found < newestDatabaseVersion
      ? "Copy it with the version of Hone that ran on it last, or bring it up to date with `hone migrate` first."
      : "It was written by a newer program: use that one.";
  return new ServiceError({
    code: "unsupported",
    message: `The database ${name} has version ${found}; this program copies version ${newestDatabaseVersion}. ${cure}`,
  });
}

function notEmpty(name: string, why: string): ServiceError {
  const message = `The database ${name} is not empty: ${why}. Name an empty one; nothing was changed.`;
  return new ServiceError({ code: "conflict", message });
}

function invalidRow(what: string, cause?: unknown): ServiceError {
  const message = `The copy cannot be loaded: ${what}. It was not written by Hone, or changed since.`;
  return new ServiceError({ code: "invalid", message, cause });
}

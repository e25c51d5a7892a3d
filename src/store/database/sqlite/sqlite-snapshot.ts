// Reads a consistent snapshot of a SQLite file, in a read transaction. The snapshot includes the write-ahead log as of
// the transaction's start, and blocks no other connection. Reading runs in the calling thread and blocks on the disk,
// so it is for commands, not for a server.
import Database from "libsql";
import type { Cell, TableColumns, TableSnapshot } from "../../../base/domain/backup/tables.ts";
import { damagedDatabaseError } from "../../../base/domain/transient-errors/damaged-database.ts";
import { PageOfRows } from "../dump/page-of-rows.ts";
import { groupOwners } from "../groups.ts";

/** Maximum time in milliseconds that opening the file waits for another process's lock. */
const waitMs = 5000;
/** Maximum number of faults that are listed for a damaged file. */
const faultsMax = 20;

/**
 * Opens a consistent snapshot of a SQLite file.
 *
 * @throws the driver's errors if the file is missing or not a SQLite database
 */
export function openSqliteSnapshot(file: string): TableSnapshot {
  const database = new Database(file);
  try {
    database.exec(`PRAGMA busy_timeout = ${waitMs}`);
    database.exec("PRAGMA query_only = ON");
    database.exec("BEGIN");
    // The snapshot shows the database as of this first read.
    database.prepare("SELECT version FROM database_version").all();
  } catch (error) {
    database.close();
    throw error;
  }
  let isOpen = true;
  return {
    rows: (of) => readable(file, rowsOf(database, of)),
    faults: async () => faultsOf(database, file),
    close: async () => {
      if (!isOpen) return;
      isOpen = false;
      database.exec("ROLLBACK");
      database.close();
    },
  };
}

/** Yields pages of rows. Fails if SQLite finds a damaged page, instead of skipping its rows. */
async function* readable<Page>(file: string, pages: AsyncIterable<Page>): AsyncGenerator<Page, void> {
  try {
    yield* pages;
  } catch (error) {
    throw damagedDatabaseError(error, file) ?? error;
  }
}

async function* rowsOf(
  database: Database.Database,
  { table, columns }: TableColumns,
): AsyncGenerator<readonly (readonly Cell[])[], void> {
  const names = columns.map((column) => `"${column}"`).join(", ");
  const statement = database.prepare(`SELECT ${names} FROM "${table}"${onlyOwned(table)}`).raw(true);
  let page = new PageOfRows();
  for (const row of statement.iterate()) {
    // Safe cast: the tables contain only texts and numbers.
    page.add(row as readonly Cell[]);
    if (!page.isFull) continue;
    yield page.rows;
    page = new PageOfRows();
  }
  if (page.rows.length > 0) yield page.rows;
}

/** Returns an SQL condition that excludes trajectory groups whose job or log is not stored yet. */
function onlyOwned(table: string): string {
  if (!isOfGroups(table)) return "";
  const { column, table: owner } = groupOwners[table];
  return ` WHERE "${column}" IN (SELECT id FROM "${owner}")`;
}

function isOfGroups(table: string): table is keyof typeof groupOwners {
  return table in groupOwners;
}

/** Returns the faults that SQLite finds in the file, and the rows that refer to missing rows. */
function faultsOf(database: Database.Database, file: string): readonly string[] {
  try {
    return foundIn(database);
  } catch (error) {
    // The file is so damaged that even this check fails.
    if (damagedDatabaseError(error, file) === null) throw error;
    return [error instanceof Error ? error.message : String(error)];
  }
}

function foundIn(database: Database.Database): readonly string[] {
  const found = database.prepare(`PRAGMA integrity_check(${faultsMax})`).raw(true).all() as [string][];
  const faults = found.map(([text]) => text).filter((text) => text !== "ok");
  // Skips the check of references, which would give wrong results for a damaged file.
  if (faults.length > 0) return faults;
  // Each result row contains the table, the row id, the referenced table, and the index of the reference.
  const orphans = database.prepare("PRAGMA foreign_key_check").raw(true).all() as [string, number, string][];
  const counts = new Map<string, number>();
  for (const [table, , parent] of orphans) {
    if (isOfGroups(table)) continue;
    const pair = `${table} refer to rows of ${parent} that are not there`;
    counts.set(pair, (counts.get(pair) ?? 0) + 1);
  }
  return [...counts].map(([pair, count]) => `${count} rows of ${pair}`);
}

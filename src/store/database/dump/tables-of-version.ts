// The tables and columns that a backup must have, by database version. They are read from an empty SQLite database of
// that version. Without this check, a backup without some table or column would load and silently lose rows, and a
// backup with an unknown table or column would fail midway.
import { sql } from "kysely";
import type { TableColumns } from "../../../base/domain/backup/tables.ts";
import { invalid, ServiceError } from "../../../base/domain/service-error.ts";
import type { Connection } from "../dialect.ts";
import { baselineVersion } from "../migrations/baseline.ts";
import { makeTables, newestDatabaseVersion } from "../migrations/migrations.ts";
import { openSqlite } from "../sqlite/sqlite-dialect.ts";

/** Names of tables that backups omit: the state of running servers, and counts of the last minutes. */
const notKept: ReadonlySet<string> = new Set([
  "database_version",
  "servers",
  "server_bases",
  "server_versions",
  "sweepers",
  "limit_running",
  "limit_slots",
]);

/** Maximum number of table and column names in one error message. */
const namedMax = 10;

/**
 * Checks that a backup has the tables and columns of its database version.
 *
 * @throws ServiceError `unsupported` if this version of Hone does not know the database version; `invalid` if tables or
 * columns are missing or unknown
 */
export async function requireTablesOf(version: number, found: readonly TableColumns[]): Promise<void> {
  requireKnownVersion(version);
  const faults = [...differences(await tablesOfVersion(version), found)];
  if (faults.length === 0) return;
  const more = faults.length > namedMax ? `, and ${faults.length - namedMax} more` : "";
  const message =
    `The copy is not one of a database of version ${version}: ${faults.slice(0, namedMax).join(", ")}${more}. ` +
    "It was not written by Hone, or changed since. Take another copy.";
  throw invalid(message);
}

/**
 * Checks that this version of Hone knows the database version of a backup.
 *
 * @throws ServiceError `unsupported` if it does not
 */
export function requireKnownVersion(version: number): void {
  if (version >= baselineVersion && version <= newestDatabaseVersion) return;
  const message =
    version > newestDatabaseVersion
      ? `The copy is of a database of version ${version}, but this program knows only up to ${newestDatabaseVersion}: use the version of Hone that made it, or a newer one.`
      : `The copy is of a database of version ${version}; there are none of versions before ${baselineVersion}.`;
  throw new ServiceError({ code: "unsupported", message });
}

/** Returns the tables in a backup with this database version. Parents precede their children. */
export async function tablesOfVersion(version: number): Promise<readonly TableColumns[]> {
  const connection = openSqlite({ file: ":memory:", isShared: true });
  const { queries, form } = connection;
  try {
    await queries.transaction().execute((transaction) => makeTables(transaction, form, version));
    return await keptTablesOf(connection);
  } finally {
    await queries.destroy();
  }
}

/** Returns those tables of a SQLite database that a backup includes, in the order of their creation. */
export async function keptTablesOf({
  queries,
}: Pick<Connection, "queries">): Promise<readonly TableColumns[]> {
  const { rows } = await sql<{ readonly table: string; readonly columns: string }>`
    select name as "table", (select json_group_array(name) from pragma_table_info(sqlite_master.name)) as columns
    from sqlite_master where type = 'table' order by rowid`.execute(queries);
  return (
    rows
      .filter(({ table }) => !notKept.has(table))
      // Safe cast: the query returns a JSON list of column names.
      .map(({ table, columns }) => ({ table, columns: JSON.parse(columns) as string[] }))
  );
}

function* differences(
  wanted: readonly TableColumns[],
  found: readonly TableColumns[],
): Generator<string, void> {
  yield* differencesOfNames(
    "the table",
    wanted.map(({ table }) => table),
    found.map(({ table }) => table),
  );
  for (const { table, columns } of found) {
    const known = wanted.find((of) => of.table === table);
    if (known !== undefined) yield* differencesOfNames(`the column ${table}`, known.columns, columns, ".");
  }
}

function* differencesOfNames(
  what: string,
  wanted: readonly string[],
  found: readonly string[],
  separator = " ",
): Generator<string, void> {
  const there = new Set(found);
  for (const name of wanted) if (!there.has(name)) yield `${what}${separator}${name} is missing`;
  const known = new Set(wanted);
  for (const [index, name] of found.entries()) {
    const shown = name.slice(0, 100);
    if (!known.has(name)) yield `${what}${separator}${shown} is unknown`;
    else if (found.indexOf(name) < index) yield `${what}${separator}${shown} comes twice`;
  }
}

// Which tables and columns a copy has to have, by the version of its database: a copy that lacks some loads without an error and
// loses what was in them, and one that names others fails in the middle with words of the database.
import type { TableColumns } from "../../../base/domain/backup/tables.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { firstTablesVersion } from "../migrations/first-tables.ts";
import { makeTables, newestDatabaseVersion } from "../migrations/migrations.ts";
import { openSqlite } from "../sqlite/sqlite-dialect.ts";
import { keptTables, notKept } from "./kept-tables.ts";

/** Most names in one message. */
const namedMax = 10;

/** @throws ServiceError `unsupported` for a version that no copy has, `invalid` where tables or columns are missing or unknown */
export async function requireTablesOf(version: number, found: readonly TableColumns[]): Promise<void> {
  requireKnownVersion(version);
  const faults = [...differences(await tablesOfVersion(version), found)];
  if (faults.length === 0) return;
  const more = faults.length > namedMax ? `, and ${faults.length - namedMax} more` : "";
  const message =
    `The copy is not one of a database of version ${version}: ${faults.slice(0, namedMax).join(", ")}${more}. ` +
    "It was not written by Hone, or changed since. Take another copy.";
  throw new ServiceError({ code: "invalid", message });
}

/** @throws ServiceError `unsupported` for a version that no copy has */
export function requireKnownVersion(version: number): void {
  if (version >= firstTablesVersion && version <= newestDatabaseVersion) return;
  const message =
    version > newestDatabaseVersion
      ? `The copy is of a database of version ${version}, but this program knows only up to ${newestDatabaseVersion}: use the version of Hone that made it, or a newer one.`
      : `The copy is of a database of version ${version}; there are none of versions before ${firstTablesVersion}.`;
  throw new ServiceError({ code: "unsupported", message });
}

/** The tables that a copy of a version has, as the steps to that version make them. */
async function tablesOfVersion(version: number): Promise<readonly TableColumns[]> {
  if (version === newestDatabaseVersion) return keptTables;
  const { queries, form } = openSqlite({ file: ":memory:", isShared: true });
  try {
    await queries.transaction().execute((transaction) => makeTables(transaction, form, version));
    const tables = await queries.introspection.getTables();
    return tables
      .filter(({ name }) => !notKept.includes(name))
      .map(({ name, columns }) => ({ table: name, columns: columns.map((column) => column.name) }));
  } finally {
    await queries.destroy();
  }
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

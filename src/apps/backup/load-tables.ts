// Loads an archive's tables into an empty database. The database may be of another kind than the archived one.
import type { DatabaseTables } from "../../base/domain/backup/tables.ts";
import { type ArchivedFile, type ArchiveReader, damaged } from "./archive/archive-reader.ts";
import { isOfDatabase, tablePath } from "./archive/layout.ts";
import type { ArchivedTable } from "./archive/manifest.ts";
import { unpackedRows, type Rows } from "./archive/table-rows.ts";
import type { Report } from "./progress.ts";

export interface Reading {
  readonly report: Report;
  readonly signal: AbortSignal;
}

/**
 * Loads all tables in one transaction.
 *
 * @throws ServiceError `invalid` for a damaged archive; errors of `DatabaseTables.requireTables` and `fill`; the
 * signal's reason
 */
export async function loadTables(
  archive: ArchiveReader,
  tables: Pick<DatabaseTables, "fill" | "requireTables">,
  reading: Reading,
): Promise<void> {
  const { version, tables: archived } = archive.manifest.database;
  await tables.requireTables(version, archived);
  const files = await tableFiles(archive);
  await tables.fill(version, async ({ insert }) => {
    for (const [index, table] of archived.entries()) {
      reading.report({ kind: "table", table: table.table, index, count: archived.length });
      for await (const rows of rowsOf(archive, table, files, reading)) await insert(table, rows);
    }
  });
}

/** Returns the files that contain the tables' rows, keyed by path. */
export async function tableFiles(archive: ArchiveReader): Promise<ReadonlyMap<string, ArchivedFile>> {
  const files = new Map<string, ArchivedFile>();
  for await (const file of archive.files()) if (isOfDatabase(file.path)) files.set(file.path, file);
  return files;
}

/**
 * Yields the rows of a table, and compares their number with the manifest at the end.
 *
 * @throws as {@link loadTables}
 */
export async function* rowsOf(
  archive: ArchiveReader,
  { table, columns, rows: rowCount }: ArchivedTable,
  files: ReadonlyMap<string, ArchivedFile>,
  { report, signal }: Reading,
): AsyncGenerator<Rows, void> {
  const path = tablePath(table);
  const file = files.get(path);
  if (file === undefined) throw damaged(`${archive.place.name}/${path}`, "SHA256SUMS does not name it");
  let rows = 0;
  for await (const page of unpackedRows(archive.read(file), { path, columnCount: columns.length })) {
    signal.throwIfAborted();
    yield page;
    rows += page.length;
    report({ kind: "rows", table, rows });
  }
  if (rows !== rowCount)
    throw damaged(
      `${archive.place.name}/${path}`,
      `it has ${rows} rows, but had ${rowCount} when it was written`,
    );
}

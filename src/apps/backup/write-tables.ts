// The tables of a snapshot, written into an archive.
import type { DatabaseTables, TableColumns, TableSnapshot } from "../../base/domain/backup/tables.ts";
import type { ArchiveWriter } from "./archive/archive-writer.ts";
import { tablePath } from "./archive/layout.ts";
import type { ArchivedTable } from "./archive/manifest.ts";
import { packedRows, type Rows } from "./archive/table-rows.ts";
import type { Report } from "./progress.ts";

export interface TableWriting {
  readonly report: Report;
  readonly signal: AbortSignal;
}

/** @throws what `signal` was aborted with; as {@link TableSnapshot.rows} */
export async function writeTables(
  writer: ArchiveWriter,
  database: Pick<DatabaseTables, "tables">,
  snapshot: TableSnapshot,
  { report, signal }: TableWriting,
): Promise<readonly ArchivedTable[]> {
  const written: ArchivedTable[] = [];
  const tables = await database.tables();
  for (const [index, of] of tables.entries()) {
    report({ kind: "table", table: of.table, index, count: tables.length });
    let rows = 0;
    const count = (more: number): void => {
      rows += more;
      report({ kind: "rows", table: of.table, rows });
    };
    await writer.add(tablePath(of.table), packedRows(abortable(snapshot.rows(of), signal), count));
    written.push({ ...columnsOf(of), rows });
  }
  return written;
}

function columnsOf({ table, columns }: TableColumns): TableColumns {
  return { table, columns };
}

async function* abortable(pages: AsyncIterable<Rows>, signal: AbortSignal): AsyncGenerator<Rows, void> {
  for await (const page of pages) {
    signal.throwIfAborted();
    yield page;
  }
}

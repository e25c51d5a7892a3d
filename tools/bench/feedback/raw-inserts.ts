// Measures how fast SQLite writes the rows that Hone wrote, without Hone. Reads the rows from a server's database, and
// writes them with one prepared statement to another file with the same table, indexes and durability settings.
// Involves no HTTP, JSON or validation.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";

export interface RawRates {
  /** Records per second in transactions of a thousand records. */
  readonly batched: number;
  /** Records per second with one transaction per record. */
  readonly single: number;
}

const perTransaction = 1000;

/**
 * @param file the server's database; nothing may write to it meanwhile
 * @param counts number of rows to write in each mode
 */
export function rawInsertRates(
  file: string,
  counts: { readonly batched: number; readonly single: number },
): RawRates {
  const folder = mkdtempSync(join(tmpdir(), "hone-raw-"));
  const source = new Database(file);
  const target = new Database(join(folder, "raw.db"));
  try {
    source.exec("PRAGMA query_only = ON");
    for (const pragma of ["journal_mode = WAL", "synchronous = FULL"]) target.exec(`PRAGMA ${pragma}`);
    const names = copyTable(source, target);
    const insert = target.prepare(
      `insert into feedback (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`,
    );
    const rows = readRows(source, names, counts.batched + counts.single);
    const batchedRows = rows.slice(0, counts.batched);
    return {
      batched: rateOf(batchedRows, perTransaction, target, insert),
      single: rateOf(rows.slice(counts.batched), 1, target, insert),
    };
  } finally {
    source.close();
    target.close();
    rmSync(folder, { recursive: true });
  }
}

/** @returns the table's column names */
function copyTable(source: Database.Database, target: Database.Database): readonly string[] {
  const parts = source
    .prepare(
      "select sql from sqlite_master where tbl_name = 'feedback' and type in ('table', 'index') and sql is not null",
    )
    .all() as { readonly sql: string }[];
  for (const { sql } of parts) target.exec(sql);
  const columns = source.prepare("select name from pragma_table_info('feedback')").all() as {
    readonly name: string;
  }[];
  return columns.map(({ name }) => name);
}

type Row = readonly unknown[];

function readRows(source: Database.Database, names: readonly string[], count: number): readonly Row[] {
  const found = source
    .prepare(`select ${names.join(", ")} from feedback limit ${count}`)
    .raw()
    .all();
  // Safe cast: raw rows are arrays of values.
  return found as Row[];
}

function rateOf(
  rows: readonly Row[],
  size: number,
  database: Database.Database,
  insert: Database.Statement,
): number {
  const start = performance.now();
  for (let first = 0; first < rows.length; first += size) {
    database.exec("BEGIN IMMEDIATE");
    for (let index = first; index < Math.min(first + size, rows.length); index++)
      insert.run([...rows[index]]);
    database.exec("COMMIT");
  }
  return (1000 * rows.length) / (performance.now() - start);
}

// For tests: rows for every table that backups include, with texts, numbers and references that a faulty copy could
// lose.
import { sql } from "kysely";
import type { Cell, TableColumns } from "../../../base/domain/backup/tables.ts";
import { keptTablesOf } from "../dump/tables-of-version.ts";
import type { Connection } from "../dialect.ts";

export interface SampleTable {
  readonly of: TableColumns;
  readonly rows: readonly (readonly Cell[])[];
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
}

/**
 * Returns `count` rows for each table, which refer to each other. Every second row has null in each nullable column.
 *
 * @param connection connection to a SQLite database
 */
export async function sampleRows(
  { queries }: Pick<Connection, "queries">,
  count: number,
): Promise<readonly SampleTable[]> {
  const samples: SampleTable[] = [];
  for (const of of await keptTablesOf({ queries })) {
    const columns = await sql<Column>`select name, type, "notnull", pk from pragma_table_info(${of.table})`
      .execute(queries)
      .then(({ rows }) => new Map(rows.map((column) => [column.name, column])));
    const parents = await sql<{ readonly from: string; readonly table: string }>`
      select "from", "table" from pragma_foreign_key_list(${of.table})`
      .execute(queries)
      .then(({ rows }) => new Map(rows.map(({ from, table }) => [from, table])));
    const cellOf = (name: string, index: number): Cell => {
      const column = columns.get(name);
      if (column === undefined) throw new Error(`${of.table} has no column ${name}`);
      if (index % 2 === 1 && column.notnull === 0 && column.pk === 0) return null;
      const parent = parents.get(name);
      if (parent !== undefined) return idIn(parent, index);
      return column.type.toLowerCase() === "text"
        ? textOf(of.table, name, index)
        : numberOf(column.type, index);
    };
    const rows = Array.from({ length: count }, (_, index) => of.columns.map((name) => cellOf(name, index)));
    samples.push({ of, rows });
  }
  return samples;
}

function textOf(table: string, column: string, index: number): string {
  return column === "id"
    ? idIn(table, index)
    : `${column} ${index}: é 👩🏽‍💻 \u2028 "\\" ' \n ${"long ".repeat(index * 40)}`;
}

function idIn(table: string, index: number): string {
  return `${table} ${index}`;
}

function numberOf(type: string, index: number): number {
  const large: Readonly<Record<string, number>> = {
    bigint: Number.MAX_SAFE_INTEGER - index,
    "double precision": 0.1 + 0.2 + index * 1e-7,
    real: index + 0.5,
  };
  return large[type.toLowerCase()] ?? index;
}

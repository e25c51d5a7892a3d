// Inserts many rows with one SQL statement. Caches the statement's text for each number of rows, because building the
// text takes longer than the insert itself.
import { CompiledQuery, type Insertable, type Transaction } from "kysely";
import type { Schema } from "./schema.ts";

/** Cached texts of statements, by kind of database, table, columns and number of rows. Each has a few kilobytes. */
const texts = new Map<string, string>();
const textsMax = 1000;

/**
 * Inserts rows with the given columns. Skips rows whose unique key is taken.
 *
 * @param rows for each row, one value per column
 * @returns number of rows inserted
 */
export async function insertRows<Table extends keyof Schema>(
  transaction: Transaction<Schema>,
  table: Table,
  columns: readonly (keyof Insertable<Schema[Table]> & string)[],
  rows: readonly (readonly unknown[])[],
): Promise<number> {
  const database = transaction.getExecutor().adapter.constructor.name;
  const key = `${database} ${table} ${rows.length} ${columns.join()}`;
  let text = texts.get(key);
  if (text === undefined) {
    text = textFor(transaction, table, columns, rows);
    if (texts.size < textsMax) texts.set(key, text);
  }
  const { numAffectedRows } = await transaction.executeQuery(CompiledQuery.raw(text, rows.flat()));
  return Number(numAffectedRows ?? 0);
}

function textFor(
  transaction: Transaction<Schema>,
  table: keyof Schema,
  columns: readonly string[],
  rows: readonly (readonly unknown[])[],
): string {
  const objects = rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])));
  return transaction
    .insertInto(table)
    .values(objects)
    .onConflict((conflict) => conflict.doNothing())
    .compile().sql;
}

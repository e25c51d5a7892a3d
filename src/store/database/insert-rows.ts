// Inserts many rows by one statement, whose text is made once for each number of rows: to have it made anew by the query
// builder takes longer than the database takes to insert.
import { CompiledQuery, type Insertable, type Transaction } from "kysely";
import type { Schema } from "./schema.ts";

/** By the kind of database, table, columns and count of rows; each is a few kilobytes. */
const texts = new Map<string, string>();
const textsMax = 1000;

/**
 * Inserts rows of these columns; those that a unique key has taken already are left out.
 *
 * @param rows a value for each column
 * @returns how many were inserted
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

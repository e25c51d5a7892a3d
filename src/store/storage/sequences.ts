// Numbers for the rows of lists, in the order in which their transactions commit. A key that a database counts up by
// itself is handed out before the commit: a row that comes later could then stand before one that was already read, and
// a reader who pages would skip that row for ever. Rows that have a parent are numbered by a counter on the parent's
// row instead, which is locked the same way.
import { sql, type Transaction } from "kysely";
import type { Schema } from "./schema.ts";

/** The lists that have no parent row. */
export type RootList =
  | "keys"
  | "models"
  | "jobs"
  | "turns"
  | "files"
  | "completions"
  | "feedback"
  | "feedback fields"
  | "rules"
  | "annotation queues"
  | "webhooks"
  | "traced files"
  | "traced tables";

/**
 * The next number of a list. Whoever else adds to the list waits from here until the transaction ends, so take it late;
 * a reader who sees a number can see every smaller one.
 */
export function nextSequence(transaction: Transaction<Schema>, list: RootList): Promise<number> {
  return nextSequences(transaction, list, 1);
}

/** The next so many numbers of a list, as {@link nextSequence}: the last of them. */
export async function nextSequences(
  transaction: Transaction<Schema>,
  list: RootList,
  count: number,
): Promise<number> {
  const { rows } = await sql<{ readonly sequence: number }>`
    insert into sequences (list, sequence) values (${list}, ${count})
    on conflict (list) do update set sequence = sequences.sequence + excluded.sequence
    returning sequence`.execute(transaction);
  return rows[0].sequence;
}

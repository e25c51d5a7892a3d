// Lists as stores keep them: numbered in the order in which their transactions commit, and read in cursor pages.
import { sql, type Transaction, type SelectQueryBuilder } from "kysely";
import type { Schema } from "./schema.ts";
import { fittingCount, type Page, type PageRequest, pageBytesMax } from "../../base/domain/page.ts";
import { quoted, ServiceError } from "../../base/domain/service-error.ts";

// A key that a database counts up by itself is handed out before the commit: a row that comes later could then stand before
// one that was already read, and a reader who pages would skip that row for ever. Rows that have a parent are numbered by a
// counter on the parent's row instead, which is locked the same way.

/** The lists that have no parent row. */
type RootList =
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

// Pages are of any query whose rows have one column that gives their order. They are bounded in items and in bytes: sizes are
// read first, and then only the rows that fit.

interface PagedList<Table extends keyof Schema, Row, Item> {
  /** The list's rows, filtered, in any order. */
  readonly rows: SelectQueryBuilder<Schema, Table, Row>;
  readonly orderColumn: "sequence" | "step";
  /** The columns of text without a small limit: what they hold counts as the size of a row. */
  readonly contentColumns: readonly string[];
  /** The order value of the item with this id, or undefined when the list has no such item. */
  readonly orderValueOf: (id: string) => Promise<number | undefined>;
  readonly itemOf: (row: Row) => Item;
}

/**
 * Reads a page.
 *
 * @throws ServiceError `invalid` when `after` names no item of the list
 */
export async function readPage<Table extends keyof Schema, Row, Item>(
  list: PagedList<Table, Row, Item>,
  page: PageRequest,
): Promise<Page<Item>> {
  const { rows, contentColumns, itemOf } = list;
  const order = sql.ref<number>(list.orderColumn);
  const after = page.after === null ? null : await list.orderValueOf(page.after);
  if (after === undefined) throw unknownCursor(String(page.after));
  const following = after === null ? rows : rows.where(order, page.order === "asc" ? ">" : "<", after);
  for (;;) {
    const sizes = await following
      .clearSelect()
      .select([order.as("orderValue"), sizeOf(contentColumns).as("bytes")])
      .orderBy(order, page.order)
      .limit(page.limit + 1)
      .execute();
    const count = fittingCount(
      sizes.slice(0, page.limit).map(({ bytes }) => bytes),
      page.bytesMax ?? pageBytesMax,
    );
    if (count === 0) return { items: [], hasMore: false };
    const found = await following
      .where(order, page.order === "asc" ? "<=" : ">=", sizes[count - 1].orderValue)
      .orderBy(order, page.order)
      .limit(count)
      .execute();
    const hasMore = sizes.length > count;
    // All of these went meanwhile. A page of nothing, behind which nobody could go on, would hide what comes behind them.
    if (found.length === 0 && hasMore) continue;
    return { items: found.map(itemOf), hasMore };
  }
}

/** The bytes of a row's columns of text. */
export function sizeOf(columns: readonly string[]) {
  const sizes = columns.map((column) => sql`coalesce(octet_length(${sql.ref(column)}), 0)`);
  return sizes.length === 0 ? sql<number>`0` : sql<number>`${sql.join(sizes, sql` + `)}`;
}

/** The refusal of a cursor that no item of the list has. */
export function unknownCursor(after: string): ServiceError {
  const message = `after is ${quoted(after)}, which is not the id of an item of this list`;
  return new ServiceError({
    code: "invalid",
    message: `${message}. Use the id of the last item of the page before, or leave it out for the first page.`,
    faults: [{ location: ["after"], message, type: "value_error" }],
  });
}

// Numbers the items of lists in the order in which they are committed, and reads lists in pages, with a cursor.
import { sql, type Transaction, type SelectQueryBuilder } from "kysely";
import type { Schema } from "./schema.ts";
import { fittingCount, type Page, type PageRequest, pageBytesMax } from "../../base/domain/page.ts";
import { quoted, ServiceError } from "../../base/domain/service-error.ts";

// An auto-increment key would not be suitable, because it is assigned before the commit. So a row that commits later
// could get a lower number than a row that was already read, and a client that reads pages would never see it. Rows
// with a parent row take their number from a counter on the parent row, which is locked in the same way.

/** Lists whose rows have no parent row. The counters of these lists are in the table `sequences`. */
type RootList =
  | "keys"
  | "models"
  | "jobs"
  | "turns"
  | "files"
  | "fine-tuning jobs"
  | "completions"
  | "rollouts"
  | "learning cycles"
  | "feedback"
  | "feedback fields"
  | "rules"
  | "annotation queues"
  | "webhooks"
  | "traced files"
  | "traced tables";

/**
 * Takes the next number of a list. Other writers to the list wait until the transaction ends, so the call should come
 * late in it. A reader that sees a number can also see every smaller number.
 */
export function nextSequence(transaction: Transaction<Schema>, list: RootList): Promise<number> {
  return nextSequences(transaction, list, 1);
}

/** Takes the next `count` numbers of a list, like {@link nextSequence}. Returns the last number. */
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

// A list that one column orders. A page is limited in items and in bytes, so the sizes of rows are read first, and then
// only the rows that fit.

interface PagedList<Table extends keyof Schema, Row, Item> {
  /** The rows of the list after filtering, in any order. */
  readonly rows: SelectQueryBuilder<Schema, Table, Row>;
  readonly orderColumn: "sequence" | "step";
  /** Text columns that have no small maximum length. The lengths of their contents count as a row's size. */
  readonly contentColumns: readonly string[];
  /** Returns the value of the order column for an item; undefined if the list has no such item. */
  readonly orderValueOf: (id: string) => Promise<number | undefined>;
  readonly itemOf: (row: Row) => Item;
}

/**
 * Reads a page of a list.
 *
 * @throws ServiceError `invalid` if `after` is not the id of an item of the list
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
    // All rows of this page were deleted after they were found. Tries again, because an empty page has no cursor from
    // which the reader could continue.
    if (found.length === 0 && hasMore) continue;
    return { items: found.map(itemOf), hasMore };
  }
}

/** Returns SQL for the total size in bytes of a row's text columns. */
export function sizeOf(columns: readonly string[]) {
  const sizes = columns.map((column) => sql`coalesce(octet_length(${sql.ref(column)}), 0)`);
  return sizes.length === 0 ? sql<number>`0` : sql<number>`${sql.join(sizes, sql` + `)}`;
}

/** Returns the error for a cursor that is not the id of an item of the list. */
export function unknownCursor(after: string): ServiceError {
  const message = `after is ${quoted(after)}, which is not the id of an item of this list`;
  return new ServiceError({
    code: "invalid",
    message: `${message}. Use the id of the last item of the page before, or leave it out for the first page.`,
    faults: [{ location: ["after"], message, type: "value_error" }],
  });
}

// Cursor pages over any query whose rows have one column that gives their order.
import { ServiceError } from "../domain/service-error.ts";
import type { Page, PageRequest } from "../domain/page.ts";

/** A page to read: the place to go on from is resolved, the order is a direction. */
export interface PageWindow {
  /** The order value of the last row of the page before; null for the first page. */
  readonly afterValue: number | null;
  readonly comparison: ">" | "<";
  readonly order: "asc" | "desc";
  /** One more than the page holds, so that it shows whether more follow. */
  readonly rowCountMax: number;
}

/**
 * Resolves a page request.
 *
 * @param orderValueOf the order value of the item with this id, or undefined when the list has no such item
 * @throws ServiceError `invalid` when `after` names no item of the list
 */
export async function pageWindow(
  page: PageRequest,
  orderValueOf: (id: string) => Promise<number | undefined>,
): Promise<PageWindow> {
  const afterValue = page.after === null ? null : await orderValueOf(page.after);
  if (afterValue === undefined) throw unknownCursor(String(page.after));
  return {
    afterValue,
    comparison: page.order === "asc" ? ">" : "<",
    order: page.order,
    rowCountMax: page.limit + 1,
  };
}

/** Cuts the surplus row off and turns rows into items. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  page: PageRequest,
  itemOf: (row: Row) => Item,
): Page<Item> {
  return { items: rows.slice(0, page.limit).map(itemOf), hasMore: rows.length > page.limit };
}

function unknownCursor(after: string): ServiceError {
  const message = `after is ${JSON.stringify(after)}, which is not the id of an item of this list`;
  return new ServiceError({
    code: "invalid",
    message: `${message}. Use the id of the last item of the page before, or leave it out for the first page.`,
    faults: [{ location: ["query", "after"], message, type: "value_error" }],
  });
}

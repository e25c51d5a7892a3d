// Pages of lists, with a cursor and limits on the number of items and on bytes. Also iterates over all pages of a list.

/** Default maximum size in bytes of a page's content: 4 MiB. */
export const pageBytesMax = 4 * 1024 * 1024;

export interface PageRequest {
  /** Id of the last item of the previous page; null for the first page. */
  readonly after: string | null;
  /** Maximum number of items, 1 to 100. */
  readonly limit: number;
  /**
   * Maximum size in bytes of the page's content as stored. The first item is returned even if it exceeds the limit.
   * Defaults to {@link pageBytesMax}.
   */
  readonly bytesMax?: number;
  readonly order: "asc" | "desc";
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
}

/** A page of items that are numbered in the order in which they were stored. */
export interface NumberedPage<T> extends Page<T> {
  /**
   * Number after which the next page continues; 0 if there are no items. If the list is filtered, it may be the number
   * of an item that does not match and is not on the page.
   */
  readonly last: number;
}

/** Request for a page whose cursor is a number instead of an id. */
export interface NumberedPageRequest extends Pick<PageRequest, "limit" | "order"> {
  /** Number of the item after which the page begins; null for the first page. */
  readonly after: number | null;
}

/**
 * Returns how many of the first items fit into a page, but at least one if there are any.
 *
 * @param sizes size of each item in bytes
 */
export function fittingCount(sizes: readonly number[], bytesMax: number): number {
  let count = 0;
  let bytes = 0;
  for (const size of sizes) {
    bytes += size;
    if (count > 0 && bytes > bytesMax) break;
    count += 1;
  }
  return count;
}

/** Yields all items of a list in the requested order. Only one page is in memory at a time. */
export async function* allItems<T extends { readonly id: string }>(
  readPage: (page: PageRequest) => Promise<Page<T>>,
  order: PageRequest["order"] = "asc",
): AsyncGenerator<T, void> {
  for await (const items of allPages(readPage, order)) yield* items;
}

/** Yields the pages of a list, with up to a hundred items each. */
export async function* allPages<T extends { readonly id: string }>(
  readPage: (page: PageRequest) => Promise<Page<T>>,
  order: PageRequest["order"],
): AsyncGenerator<readonly T[], void> {
  for (let after: string | null = null, hasMore = true; hasMore;) {
    const page: Page<T> = await readPage({ after, limit: 100, order });
    yield page.items;
    after = page.items.at(-1)?.id ?? null;
    hasMore = page.hasMore && after !== null;
  }
}

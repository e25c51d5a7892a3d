// Cursor pages, bounded in items and in bytes, and what goes over all pages of a list.

/** The bound of a page's content where the request names none: 4 MiB. */
export const pageBytesMax = 4 * 1024 * 1024;

export interface PageRequest {
  /** Id of the last item of the page before; null for the first page. */
  readonly after: string | null;
  /** 1 to 100. */
  readonly limit: number;
  /** Most bytes of content, as stored; a page holds at least one item, whatever its size. {@link pageBytesMax} unless given. */
  readonly bytesMax?: number;
  readonly order: "asc" | "desc";
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
}

/** A page of items that are numbered in the order they were stored. */
export interface NumberedPage<T> extends Page<T> {
  /** The number to go on behind; 0 where there is no item. Of a page that found few it may be none of theirs. */
  readonly last: number;
}

/** A page of numbers rather than ids. */
export interface NumberedPageRequest extends Pick<PageRequest, "limit" | "order"> {
  /** The number to go on behind; null for the first page. */
  readonly after: number | null;
}

/** How many items from the first on fit in a page, given the size of each; at least one, if there is any. */
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

/** Every item of a list in the order asked for, with a page in memory at a time. */
export async function* allItems<T extends { readonly id: string }>(
  readPage: (page: PageRequest) => Promise<Page<T>>,
  order: PageRequest["order"] = "asc",
): AsyncGenerator<T, void> {
  for await (const items of allPages(readPage, order)) yield* items;
}

/** The same by pages, of up to a hundred items each. */
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

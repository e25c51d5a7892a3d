// Searches a list for words. A request searches for a limited time, slice by slice, and answers with the items found so far; the
// next request continues after the last item that was examined.
import type { Clock } from "../../../base/domain/clock.ts";
import type { QueryTurn } from "../../../base/domain/feedback-query/feedback-query.ts";
import type { NumberedPage, NumberedPageRequest } from "../../../base/domain/page.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** Time in milliseconds after which a search examines no further slice; clients want an answer within seconds. */
const searchMs = 2000;

/** Time limit in milliseconds of the query for one slice, which normally takes a few milliseconds. */
const sliceMs = 10_000;

/** Number of items that one database query scans. */
const sliceItems = 250;

/** The list to search, and the two steps of the search. */
export interface SearchedList<Item> {
  readonly list: (page: NumberedPageRequest) => Promise<NumberedPage<Item>>;
  /** Returns the numbers of the items that may contain the words. */
  readonly candidates: (items: readonly Item[], turn: QueryTurn) => Promise<ReadonlySet<number>>;
  /** True if the item contains the words. */
  readonly contains: (item: Item) => Promise<boolean>;
}

/**
 * Returns the next page of items that contain the words; empty if none was found in time.
 *
 * @throws ServiceError `too_slow` if the first slice takes too long, `overloaded` if too many searches wait
 */
export async function searchPage<Item extends { readonly number: number }>(
  searched: SearchedList<Item>,
  page: NumberedPageRequest,
  { entity, clock }: { readonly entity: string; readonly clock: Clock },
): Promise<NumberedPage<Item>> {
  const endMs = clock.monotonicMs() + searchMs;
  const found: Item[] = [];
  let { after } = page;
  for (let isFirst = true; ; isFirst = false) {
    const { items, last, hasMore } = await searched.list({ ...page, after, limit: sliceItems });
    let numbers: ReadonlySet<number>;
    try {
      numbers = await searched.candidates(items, { entity, timeMs: sliceMs });
    } catch (error) {
      const isSlow = error instanceof ServiceError && error.code === "too_slow";
      if (isFirst || !isSlow) throw error;
      return { items: found, last: after ?? 0, hasMore: true };
    }
    for (const item of items) {
      if (!numbers.has(item.number)) continue;
      if (await searched.contains(item)) found.push(item);
      if (found.length < page.limit && clock.monotonicMs() < endMs) continue;
      return { items: found, last: item.number, hasMore: hasMore || item !== items.at(-1) };
    }
    if (!hasMore) return { items: found, last, hasMore };
    after = last;
    if (clock.monotonicMs() >= endMs) return { items: found, last, hasMore };
  }
}

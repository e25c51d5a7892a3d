// Reads all records that a selection matches, one page at a time, so that memory does not grow with the number of
// records.
import type { Condition } from "../../../base/domain/feedback-query/condition.ts";
import type { QueryTurn } from "../../../base/domain/feedback-query/feedback-query.ts";
import type { FeedbackStore } from "../../../base/domain/feedback-query/feedback-store.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";

export interface RecordSelection {
  readonly projectId: string;
  readonly condition: Condition;
  /** Id of the record after which to continue; null to begin at the start. */
  readonly after: string | null;
}

/** Maximum number of records in a page. The size of a page in bytes is limited too, as for the pages of all lists. */
const pageRecords = 1000;

/**
 * Yields the matching records page by page, in storage order. A page scans a limited number of records, so it may
 * contain no match.
 *
 * @param options.signal aborts between two pages
 * @throws ServiceError `invalid` if `after` is not the id of a record; `too_slow` or `overloaded`, like
 * `FeedbackStore.scan`
 */
export async function* recordPages(
  store: Pick<FeedbackStore, "scan" | "placeOf">,
  { projectId, condition, after }: RecordSelection,
  turn: QueryTurn,
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<readonly FeedbackRecord[], void> {
  let place = after === null ? null : await store.placeOf(projectId, after);
  if (after !== null && place === null) throw unknownPlace(after);
  for (let hasMore = true; hasMore;) {
    signal.throwIfAborted();
    const page = await store.scan({ projectId, condition, after: place, limit: pageRecords }, turn);
    yield page.items;
    place = page.last ?? place;
    hasMore = page.hasMore;
  }
}

function unknownPlace(after: string): ServiceError {
  const message = `after is ${quoted(after)}, which is not the id of a record of the project; use the id of an earlier one`;
  return new ServiceError({
    code: "invalid",
    message: `${message}.`,
    faults: [{ location: ["after"], message, type: "value_error" }],
  });
}

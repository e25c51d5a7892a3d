// All records of a selection, however many: a page in memory at a time.
import type { Condition } from "../../../base/domain/feedback-query/condition.ts";
import type { QueryTurn } from "../../../base/domain/feedback-query/feedback-query.ts";
import type { FeedbackStore } from "../../../base/domain/feedback-query/feedback-store.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";

export interface RecordSelection {
  readonly projectId: string;
  readonly condition: Condition;
  /** The id of the record to go on behind; null for the first one. */
  readonly after: string | null;
}

/** Records of a page; its bytes have the bound of any page. */
const pageRecords = 1000;

/**
 * Pages in the order in which records were stored, some of them empty: a page looks at so many records and no more.
 *
 * @param options.signal ends it between two pages
 * @throws ServiceError `invalid` where `after` names no record; `too_slow`, `overloaded` as `FeedbackStore.scan`
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
  const message = `after is ${quoted(after)}, which is not the id of a record of the project; use that of one that came before it`;
  return new ServiceError({
    code: "invalid",
    message: `${message}.`,
    faults: [{ location: ["after"], message, type: "value_error" }],
  });
}

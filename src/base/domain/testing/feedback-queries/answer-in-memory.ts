// A query answered over records in memory, in the order in which they were stored.
import type { FeedbackRecord } from "../../feedback.ts";
import { fieldText, holds } from "./evaluate.ts";
import type { FeedbackQuery, SortKey } from "../../feedback-query/feedback-query.ts";
import { compareTexts, numberOfText } from "../../feedback-query/values.ts";

/** Those of the records that the query is about, sorted; neither its slice nor its bytes are looked at. */
export function selected(
  records: readonly FeedbackRecord[],
  { projectId, condition, sortBy }: Pick<FeedbackQuery, "projectId" | "condition" | "sortBy">,
): readonly FeedbackRecord[] {
  const found = records.filter((record) => record.projectId === projectId && holds(condition, record));
  // Sorting is stable: what is equal stays in the order of storage.
  return found.sort((a, b) => {
    for (const key of sortBy) {
      const order = orderBy(key, a, b);
      if (order !== 0) return order;
    }
    return 0;
  });
}

function orderBy({ field, direction }: SortKey, a: FeedbackRecord, b: FeedbackRecord): number {
  const [first, second] = [fieldText(field, a), fieldText(field, b)];
  if (first === null || second === null) return Number(first === null) - Number(second === null);
  const sign = direction === "asc" ? 1 : -1;
  if (field.kind === "payload") {
    const [x, y] = [numberOfText(first), numberOfText(second)];
    if (x === null || y === null) {
      if (x !== y) return Number(x === null) - Number(y === null);
    } else if (x !== y) return sign * (x - y);
  }
  return sign * compareTexts(first, second);
}

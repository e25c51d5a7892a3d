// For tests: answers a feedback query over records in memory, which are given in storage order.
import type { FeedbackRecord } from "../../feedback.ts";
import { fieldText, holds } from "./evaluate.ts";
import type { FeedbackQuery, SortKey } from "../../feedback-query/feedback-query.ts";
import { compareTexts, numberOfText } from "../../feedback-query/values.ts";

/** Returns the matching records, sorted. Ignores the query's limit, offset and byte limit. */
export function selected(
  records: readonly FeedbackRecord[],
  { projectId, condition, sortBy }: Pick<FeedbackQuery, "projectId" | "condition" | "sortBy">,
): readonly FeedbackRecord[] {
  const found = records.filter((record) => record.projectId === projectId && holds(condition, record));
  // The sort is stable, so equal records remain in storage order.
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

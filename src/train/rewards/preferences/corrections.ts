// What people would have answered instead: texts in the payloads of feedback on an answer. Pure.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { valueAt } from "../../../base/domain/feedback-query/values.ts";
import type { CorrectionTerm } from "../../../base/domain/rewards/preference-order.ts";
import { newestOfEach } from "../scoring/opinions.ts";

/** A text, and the records that say it. */
export interface Correction {
  readonly text: string;
  readonly feedback: readonly FeedbackRecord[];
}

/** Of each person the newest; people who wrote the same text are one correction. */
export function correctionsIn(
  term: CorrectionTerm | null,
  records: readonly FeedbackRecord[],
): readonly Correction[] {
  if (term === null) return [];
  const opinions = records.flatMap((record) => {
    const said = correctedText(term, record);
    return said === null ? [] : [{ record, said }];
  });
  const byText = new Map<string, FeedbackRecord[]>();
  for (const { record, said } of newestOfEach(opinions)) {
    const feedback = byText.get(said) ?? [];
    feedback.push(record);
    byText.set(said, feedback);
  }
  return [...byText].map(([text, feedback]) => ({ text, feedback }));
}

/** Null where the record holds no text there. */
function correctedText(
  { feedbackType, path }: CorrectionTerm,
  record: Pick<FeedbackRecord, "feedbackType" | "payload">,
): string | null {
  if (feedbackType !== null && record.feedbackType !== feedbackType) return null;
  const said = valueAt(record.payload, path);
  return typeof said === "string" && said.trim() !== "" ? said : null;
}

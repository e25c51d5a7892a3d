// Finds corrections, which are better answers that people wrote in feedback payloads. Pure.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { valueAt } from "../../../base/domain/feedback-query/values.ts";
import type { CorrectionTerm } from "../../../base/domain/rewards/preference-order.ts";
import { newestOfEach } from "../scoring/opinions.ts";

/** A corrected text, and the feedback records that contain this text. */
export interface Correction {
  readonly text: string;
  readonly feedback: readonly FeedbackRecord[];
}

/** Returns each person's newest correction. Equal texts by several people count as one correction. */
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

/** Returns the corrected text in a record; null if it has none. */
function correctedText(
  { feedbackType, path }: CorrectionTerm,
  record: Pick<FeedbackRecord, "feedbackType" | "payload">,
): string | null {
  if (feedbackType !== null && record.feedbackType !== feedbackType) return null;
  const said = valueAt(record.payload, path);
  return typeof said === "string" && said.trim() !== "" ? said : null;
}

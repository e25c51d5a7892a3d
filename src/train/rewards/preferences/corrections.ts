// Finds corrections: better answers that people wrote in the payloads of feedback. Pure.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { valueAt } from "../../../base/domain/feedback-query/values.ts";
import type { CorrectionTerm } from "../../../base/domain/rewards/preference-order.ts";
import { newestOfEach } from "../scoring/opinions.ts";

/** A corrected text and the records that contain it. */
export interface Correction {
  readonly text: string;
  readonly feedback: readonly FeedbackRecord[];
}

/** Returns each person's newest correction; equal texts of several people are one correction. */
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

/** Returns null if the record has no text there. */
function correctedText(
  { feedbackType, path }: CorrectionTerm,
  record: Pick<FeedbackRecord, "feedbackType" | "payload">,
): string | null {
  if (feedbackType !== null && record.feedbackType !== feedbackType) return null;
  const said = valueAt(record.payload, path);
  return typeof said === "string" && said.trim() !== "" ? said : null;
}

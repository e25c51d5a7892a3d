// Finds corrections in feedback payloads. A correction is a better answer that a person wrote. Pure.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { valueAt } from "../../../base/domain/feedback-query/values.ts";
import type { CorrectionTerm } from "../../../base/domain/rewards/preference-order.ts";
import { newestOfEach } from "../scoring/opinions.ts";

/** A corrected text, and the feedback records that contain it. */
export interface Correction {
  readonly text: string;
  readonly feedback: readonly FeedbackRecord[];
}

/** Returns the newest correction by each person. If several people wrote the same text, it counts as one correction. */
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

/** Returns the corrected text that a feedback record contains; null if it contains none. */
function correctedText(
  { feedbackType, path }: CorrectionTerm,
  record: Pick<FeedbackRecord, "feedbackType" | "payload">,
): string | null {
  if (feedbackType !== null && record.feedbackType !== feedbackType) return null;
  const said = valueAt(record.payload, path);
  return typeof said === "string" && said.trim() !== "" ? said : null;
}

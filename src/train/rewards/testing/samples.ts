// For tests: recorded calls of one project, and feedback on them.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { callReference } from "../../../base/domain/recordings/call-reference.ts";
import type { RewardRule } from "../../../base/domain/rewards/reward-rule.ts";
import type { RecordedCall } from "../groups/judge-answers.ts";

export const projectId = "team/games";

/** Returns the reference to a call, or to one of its choices. */
export function refTo(requestId: string, choice: number | null = null): string {
  return callReference({ projectId, requestId }, choice);
}

let written = 0;

/** Returns a feedback record whose time is one second after the previous record's. */
export function said(
  reference: string,
  changes: Partial<FeedbackRecord> & Pick<FeedbackRecord, "feedbackType" | "payload">,
): FeedbackRecord {
  const number = ++written;
  return {
    id: `f${String(number).padStart(4, "0")}`,
    projectId,
    vendorRef: reference,
    creator: null,
    annotationRef: null,
    runnableRef: null,
    callRef: null,
    triggerRef: null,
    queueId: null,
    createdAt: new Date(Date.UTC(2026, 10, 21) + number * 1000),
    vendorUserId: "Ada",
    contentHash: `hash of ${number}`,
    ...changes,
  };
}

export function thumb(
  reference: string,
  emoji: string,
  changes: Partial<FeedbackRecord> = {},
): FeedbackRecord {
  const alias = { "👍": ":thumbs_up:", "👎": ":thumbs_down:" }[emoji] ?? "";
  return said(reference, { feedbackType: "vendor.reaction.1", payload: { emoji, alias }, ...changes });
}

export const thumbs: RewardRule = {
  terms: [{ kind: "reaction", weight: 1, rewards: { "👍": 1, ":thumbs_down:": 0 } }],
};

export function recordedCall(
  requestId: string,
  promptHash: string,
  changes: Partial<RecordedCall> = {},
): RecordedCall {
  return {
    requestId,
    modelId: "m",
    step: 0,
    promptHash,
    choiceCount: 1,
    tokenCount: 10,
    answerTokenCount: 4,
    isWhole: true,
    ...changes,
  };
}

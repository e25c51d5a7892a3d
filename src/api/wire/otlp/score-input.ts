// Converts scores and evaluations from tracing programs to feedback.
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { FeedbackInput } from "../../../judge/feedback/check-content.ts";

interface Score {
  readonly id: string | null;
  readonly projectId: string;
  /** Id of the span or trace that is judged. */
  readonly target: string;
  /** First part of the feedback type; the score's name follows it. */
  readonly kind: string;
  readonly name: string;
  readonly payload: JsonObject;
}

/** Maximum length of a score's name, which is part of its feedback type. */
export const scoreNameMax = 200;

export function scoreInput({ id, projectId, target, kind, name, payload }: Score): FeedbackInput {
  return {
    id,
    projectId,
    vendorRef: `weave:///${projectId}/call/${encodeURIComponent(target)}`,
    feedbackType: `${kind}.${Array.from(name).slice(0, scoreNameMax).join("")}`,
    payload,
    creator: null,
    annotationRef: null,
    runnableRef: null,
    callRef: null,
    triggerRef: null,
    queueId: null,
  };
}

// Converts scores and evaluations that tracing programs send to feedback.
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { FeedbackInput } from "../../../judge/feedback/check-content.ts";

interface Score {
  readonly id: string | null;
  readonly projectId: string;
  /** Id of the judged span, or of the judged trace. */
  readonly target: string;
  /** Beginning of the feedback type, before the score's name. */
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

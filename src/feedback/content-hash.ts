// What tells a retry of a record from another record with its id: a hash that does not depend on the order of keys.
import type { FeedbackContent } from "../domain/feedback.ts";
import { jsonHash } from "./canonical-json.ts";

/** Hex SHA-256 of the content as it was sent. */
export function contentHash(content: FeedbackContent): string {
  // In the order of their names, in which they are hashed.
  return jsonHash({
    annotationRef: content.annotationRef,
    callRef: content.callRef,
    creator: content.creator,
    feedbackType: content.feedbackType,
    payload: content.payload,
    projectId: content.projectId,
    queueId: content.queueId,
    runnableRef: content.runnableRef,
    triggerRef: content.triggerRef,
    vendorRef: content.vendorRef,
  });
}

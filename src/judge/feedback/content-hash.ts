// Hash that distinguishes a retry of a record from another record with its id; independent of key order.
import type { FeedbackContent } from "../../base/domain/feedback.ts";
import { canonicalJson, textHash } from "./canonical-json.ts";

/** In the order of keys in canonical JSON, in which they are hashed. */
const fields = [
  "annotationRef",
  "callRef",
  "creator",
  "feedbackType",
  "payload",
  "projectId",
  "queueId",
  "runnableRef",
  "triggerRef",
  "vendorRef",
] as const satisfies readonly (keyof FeedbackContent)[];

/** Returns the hex SHA-256 of the content as sent. */
export function contentHash(content: FeedbackContent): string {
  let text = "";
  for (const field of fields) {
    const value = content[field];
    const isText = typeof value === "string" || value === null;
    text += `${text === "" ? "{" : ","}"${field}":${isText ? JSON.stringify(value) : canonicalJson(value)}`;
  }
  return textHash(`${text}}`);
}

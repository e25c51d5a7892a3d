// What tells a retry of a record from another record with its id: a hash that does not depend on the order of keys.
import type { FeedbackContent } from "../../base/domain/feedback.ts";
import { canonicalJson, textHash } from "./canonical-json.ts";

/** In the order in which they are hashed, which is that of keys in canonical JSON. */
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

/** Hex SHA-256 of the content as it was sent. */
export function contentHash(content: FeedbackContent): string {
  let text = "";
  for (const field of fields) {
    const value = content[field];
    const isText = typeof value === "string" || value === null;
    text += `${text === "" ? "{" : ","}"${field}":${isText ? JSON.stringify(value) : canonicalJson(value)}`;
  }
  return textHash(`${text}}`);
}

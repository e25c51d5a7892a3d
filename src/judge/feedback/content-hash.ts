// Computes the hash of a record's content, independent of the order of keys. The hash shows whether a request with an
// existing id is a retry or a different record.
import type { FeedbackContent } from "../../base/domain/feedback.ts";
import { canonicalJson, textHash } from "./canonical-json.ts";

/** Fields that are hashed, in the order in which canonical JSON sorts their keys. */
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

/** Returns the hex SHA-256 of the content that the caller sent. */
export function contentHash(content: FeedbackContent): string {
  let text = "";
  for (const field of fields) {
    const value = content[field];
    const isText = typeof value === "string" || value === null;
    text += `${text === "" ? "{" : ","}"${field}":${isText ? JSON.stringify(value) : canonicalJson(value)}`;
  }
  return textHash(`${text}}`);
}

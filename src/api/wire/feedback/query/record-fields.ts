// Names, including aliases, by which queries refer to the fields of a feedback record.
import type { FeedbackField, TextField } from "../../../../base/domain/feedback-query/feedback-field.ts";
import { pathSteps } from "../../../../base/domain/feedback-query/feedback-field.ts";
import { quoted, ServiceError } from "../../../../base/domain/service-error.ts";

const textFields: ReadonlyMap<string, TextField> = new Map([
  ["id", "id"],
  ["project_id", "projectId"],
  ["vendor_ref", "vendorRef"],
  ["weave_ref", "vendorRef"],
  ["vendor_user_id", "vendorUserId"],
  ["wb_user_id", "vendorUserId"],
  ["creator", "creator"],
  ["feedback_type", "feedbackType"],
  ["annotation_ref", "annotationRef"],
  ["runnable_ref", "runnableRef"],
  ["call_ref", "callRef"],
  ["trigger_ref", "triggerRef"],
  ["queue_id", "queueId"],
  ["call_id", "callId"],
]);

const payload = "payload";

/** All names of fields, except paths into the payload. */
export const fieldNames: readonly string[] = [...textFields.keys(), "created_at", payload];

/**
 * Returns the field to which a name refers. `payload.<path>` refers to a value in the payload.
 *
 * @throws ServiceError `unsupported` for an unknown name
 */
export function fieldNamed(name: string): FeedbackField {
  const text = textFields.get(name);
  if (text !== undefined) return { kind: "text", name: text };
  if (name === "created_at") return { kind: "createdAt" };
  if (name === payload) return { kind: "payload", path: [] };
  if (name.startsWith(`${payload}.`)) {
    const path = pathSteps(name.slice(payload.length + 1));
    if (path !== null) return { kind: "payload", path };
    const message = `${quoted(name)} has an index larger than any list; write a backslash before digits that are a name.`;
    throw new ServiceError({ code: "unsupported", message });
  }
  const message = `Unknown field: ${quoted(name)}. The fields are ${fieldNames.join(", ")} and payload.<path>.`;
  throw new ServiceError({ code: "unsupported", message });
}

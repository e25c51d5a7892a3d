// Creates feedback records from the user's input, and formats records as text.
import type { FeedbackCreateReq, FeedbackRecord } from "../../client/api.ts";

/** Type and payload of a new record. */
export type Given = Pick<FeedbackCreateReq, "feedback_type" | "payload">;

const reactionType = "vendor.reaction.1";
const noteType = "vendor.note.1";

/** Maximum length of a note in characters, as the server limits it. */
export const noteLengthMax = 1024;

export function reaction(emoji: string): Given {
  return { feedback_type: reactionType, payload: { emoji } };
}

export function note(text: string): Given {
  return { feedback_type: noteType, payload: { note: text } };
}

export function isReaction(
  record: Pick<FeedbackRecord, "feedback_type" | "payload">,
  emoji: string,
): boolean {
  return record.feedback_type === reactionType && record.payload["emoji"] === emoji;
}

/**
 * Parses feedback that the user has typed.
 *
 * @returns the record, or an error message if the input is invalid
 */
export function freeRecord(type: string, json: string): Given | string {
  const example = '{"value": 0.5}';
  if (type.trim() === "") return "The type is empty; enter one, such as score.";
  let payload: unknown;
  try {
    payload = JSON.parse(json);
  } catch (error) {
    const why = error instanceof Error ? error.message : "it cannot be read";
    return `The payload is not JSON: ${why}. Write an object, such as ${example}.`;
  }
  if (typeof payload !== "object" || payload === null || Array.isArray(payload))
    return `The payload must be an object, such as ${example}.`;
  return { feedback_type: type.trim(), payload };
}

/** Formats a record as one line. */
export function formatRecord({
  feedback_type: type,
  payload,
}: Pick<FeedbackRecord, "feedback_type" | "payload">): string {
  const { emoji, note: text } = payload;
  if (typeof emoji === "string") return emoji;
  return typeof text === "string" ? text : `${type} ${JSON.stringify(payload)}`;
}

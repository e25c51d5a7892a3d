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

/** Reactions that contradict each other, so that one person gives only one of them. */
const opposites: Readonly<Record<string, string>> = { "👍": "👎", "👎": "👍" };

/** Change of a person's records when the person chooses a reaction. */
export interface ReactionChange {
  readonly isAdded: boolean;
  /** Ids of the records to delete. */
  readonly removed: readonly string[];
}

/**
 * Returns the change that adds a reaction and removes its opposite, or that removes the reaction if it is already
 * given.
 *
 * @param own the person's records on the subject
 */
export function reactionChange(
  own: readonly Pick<FeedbackRecord, "id" | "feedback_type" | "payload">[],
  emoji: string,
): ReactionChange {
  const idsWith = (one: string) => own.filter((record) => isReaction(record, one)).map(({ id }) => id);
  const given = idsWith(emoji);
  const opposite = opposites[emoji];
  if (given.length > 0) return { isAdded: false, removed: given };
  return { isAdded: true, removed: opposite === undefined ? [] : idsWith(opposite) };
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
  if (typeof text === "string") return text;
  const name = type.replace(/^(.*\.)?annotation\./, "");
  const entries = Object.entries(payload);
  const values = entries.map(([key, value]) =>
    key === "value" && entries.length === 1 ? valueText(value) : `${key} ${valueText(value)}`,
  );
  return values.length === 0 ? name : `${name}: ${values.join(", ")}`;
}

/** Formats a value of a payload: booleans as yes and no, texts without quotation marks. */
function valueText(value: unknown): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "string" ? value : JSON.stringify(value);
}

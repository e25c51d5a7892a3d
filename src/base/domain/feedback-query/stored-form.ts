// Form in which a record's content is stored and searched. Texts are stored as queries see them: with replacements for
// NUL and unpaired surrogates. If a text contains either of these, the exact texts are also stored, as JSON, which can
// escape both.
import type { FeedbackContent, FeedbackRecord } from "../feedback.ts";
import { callIdOf, readCallReference } from "../recordings/call-reference.ts";
import type { JsonObject } from "../text/json.ts";
import type { TextField } from "./feedback-field.ts";
import { numbersIn } from "./payload-numbers.ts";
import { searchableJson, searchableText } from "./values.ts";

export interface StoredForm {
  /** Payload of the record as JSON. */
  readonly payload: string;
  readonly creator: string | null;
  readonly queueId: string | null;
  /** The {@link ExactParts} as JSON; null if no text had to be changed. */
  readonly exact: string | null;
  /** Text under which the record is in the index of emojis; null if it is not in the index. */
  readonly emoji: string | null;
  /** True if some numbers of the payload are missing from the index of numbers. */
  readonly hasMoreNumbers: boolean;
  /** Id of the call to which the record refers; null if the record refers to something else or to another project. */
  readonly callId: string | null;
}

export type ExactParts = Pick<FeedbackContent, "payload" | "creator" | "queueId">;

/**
 * Returns the stored form of a record's content.
 *
 * @param payloadText payload as JSON, if the caller already has it
 */
export function storedForm(
  content: FeedbackContent,
  payloadText: string = JSON.stringify(content.payload),
): StoredForm {
  const { payload, creator, queueId } = content;
  const isSearchable =
    !mayBeOther(payloadText) && searchable(creator) === creator && searchable(queueId) === queueId;
  return {
    payload: isSearchable ? payloadText : JSON.stringify(searchableJson(payload)),
    creator: searchable(creator),
    queueId: searchable(queueId),
    exact: isSearchable ? null : JSON.stringify({ payload, creator, queueId } satisfies ExactParts),
    emoji: emojiOf(payload),
    hasMoreNumbers: numbersIn(payload).hasMore,
    callId: calledBy(content),
  };
}

/**
 * Returns the exact texts of a record; null if the texts as queries see them are exact. Safe cast: `storedForm` has
 * written this JSON.
 */
export function exactParts(exact: StoredForm["exact"]): ExactParts | null {
  return exact === null ? null : (JSON.parse(exact) as ExactParts);
}

/** True if the JSON may contain an escaped NUL or unpaired surrogate, or a text that looks like such an escape. */
function mayBeOther(json: string): boolean {
  return json.includes("\\u") && /\\u(?:0000|d[89a-f])/i.test(json);
}

function searchable(text: string | null): string | null {
  return text === null ? null : searchableText(text);
}

/** Maximum length in characters of texts in the index of emojis. */
export const emojiLengthMax = 64;

function emojiOf({ emoji }: JsonObject): string | null {
  return typeof emoji === "string" && emoji.length > 0 && emoji.length <= emojiLengthMax
    ? searchableText(emoji)
    : null;
}

/** Returns the text of a record in a text field; null if the record has none there. */
export function recordText(record: FeedbackRecord, field: TextField): string | null {
  return field === "callId" ? calledBy(record) : record[field];
}

/** Returns the id of the call to which a record refers; null if it refers to something else or to another project. */
export function calledBy({
  projectId,
  vendorRef,
}: Pick<FeedbackContent, "projectId" | "vendorRef">): string | null {
  const called = readCallReference(vendorRef);
  return called === null || called.projectId !== projectId ? null : callIdOf(called.requestId);
}

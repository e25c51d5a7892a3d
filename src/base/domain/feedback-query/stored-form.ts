// Form in which a record's content is stored and searched. Texts are stored as queries see them, which replaces NUL
// and unpaired surrogates. If a text contains either, the exact texts are stored too, as JSON, which can escape both.
import type { FeedbackContent, FeedbackRecord } from "../feedback.ts";
import { callIdOf, readCallReference } from "../recordings/call-reference.ts";
import type { JsonObject } from "../text/json.ts";
import type { TextField } from "./feedback-field.ts";
import { numbersIn } from "./payload-numbers.ts";
import { searchableJson, searchableText } from "./values.ts";

export interface StoredForm {
  /** Payload as JSON. */
  readonly payload: string;
  readonly creator: string | null;
  readonly queueId: string | null;
  /** The {@link ExactParts} as JSON; null if no text was changed. */
  readonly exact: string | null;
  /** Key of the emoji index. */
  readonly emoji: string | null;
  /** True if some numbers of the payload are missing from the index of numbers. */
  readonly hasMoreNumbers: boolean;
  /** Id of the call to which the record refers; null if the record refers to something else or to another project. */
  readonly callId: string | null;
}

export type ExactParts = Pick<FeedbackContent, "payload" | "creator" | "queueId">;

/** @param payloadText the payload as JSON, if the caller has it already */
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

/** Safe cast: written by `storedForm`. Returns null if the texts as queries see them are exact. */
export function exactParts(exact: StoredForm["exact"]): ExactParts | null {
  return exact === null ? null : (JSON.parse(exact) as ExactParts);
}

/** True if JSON contains an escape of NUL or of an unpaired surrogate, or a text that looks like one. */
function mayBeOther(json: string): boolean {
  return json.includes("\\u") && /\\u(?:0000|d[89a-f])/i.test(json);
}

function searchable(text: string | null): string | null {
  return text === null ? null : searchableText(text);
}

/** Maximum length of the texts in the emoji index. */
export const emojiLengthMax = 64;

function emojiOf({ emoji }: JsonObject): string | null {
  return typeof emoji === "string" && emoji.length > 0 && emoji.length <= emojiLengthMax
    ? searchableText(emoji)
    : null;
}

/** Returns the text of a record in one of its text fields; null if it has none. */
export function recordText(record: FeedbackRecord, field: TextField): string | null {
  return field === "callId" ? calledBy(record) : record[field];
}

/** Returns the call that a record refers to; null if it refers to something else or to another project. */
export function calledBy({
  projectId,
  vendorRef,
}: Pick<FeedbackContent, "projectId" | "vendorRef">): string | null {
  const called = readCallReference(vendorRef);
  return called === null || called.projectId !== projectId ? null : callIdOf(called.requestId);
}

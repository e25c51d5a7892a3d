// What a store keeps of a record's content so that queries find it. Texts are kept as queries see them; where that is not what
// they are, since NUL and half surrogate pairs stay in no text of a database, what they are is kept beside it as JSON, which
// escapes them. Computed from the record alone, in whichever thread reads it.
import type { FeedbackContent, FeedbackRecord } from "../feedback.ts";
import { callIdOf, readCallReference } from "../recordings/call-reference.ts";
import type { JsonObject } from "../text/json.ts";
import type { TextField } from "./feedback-field.ts";
import { numbersIn } from "./payload-numbers.ts";
import { searchableJson, searchableText } from "./values.ts";

export interface StoredForm {
  /** As JSON. */
  readonly payload: string;
  readonly creator: string | null;
  readonly queueId: string | null;
  /** The {@link ExactParts} as JSON, where they are not what queries see; null else. */
  readonly exact: string | null;
  /** What the index of emoji goes by. */
  readonly emoji: string | null;
  /** Whether the index of numbers lacks some of the payload's. */
  readonly hasMoreNumbers: boolean;
  /** The call of its project that it is on. */
  readonly callId: string | null;
}

export type ExactParts = Pick<FeedbackContent, "payload" | "creator" | "queueId">;

/** @param payloadText the payload as JSON, where it was written already */
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

/** What `storedForm` wrote; null where queries see the record as it is. */
export function exactParts(exact: StoredForm["exact"]): ExactParts | null {
  return exact === null ? null : (JSON.parse(exact) as ExactParts);
}

/** Whether JSON holds what it escapes of NUL and of half surrogate pairs, or a text that looks so. */
function mayBeOther(json: string): boolean {
  return json.includes("\\u") && /\\u(?:0000|d[89a-f])/i.test(json);
}

function searchable(text: string | null): string | null {
  return text === null ? null : searchableText(text);
}

/** What is longer is not found by the index, nor is what is no text. */
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

/** The call that a record is on; null for what is on something else, or in another project. */
export function calledBy({
  projectId,
  vendorRef,
}: Pick<FeedbackContent, "projectId" | "vendorRef">): string | null {
  const called = readCallReference(vendorRef);
  return called === null || called.projectId !== projectId ? null : callIdOf(called.requestId);
}

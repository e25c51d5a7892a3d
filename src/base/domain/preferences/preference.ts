// An example for preference training: a prompt with a preferred answer, a rejected one, or both.
import type { JsonObject } from "../text/json.ts";
import type { HistoryItem, MessageRecord } from "../trajectory.ts";

/** A prompt with one or two answers. Only KTO accepts a single answer. */
export interface PreferenceExample {
  /** Messages of the prompt as the client sent them, with the API's field names. */
  readonly messages: readonly MessageRecord[];
  readonly tools: readonly JsonObject[] | null;
  readonly chosen: AnswerMessages | null;
  readonly rejected: AnswerMessages | null;
  /** Other fields that the client sent with the example, such as arguments of the chat template. */
  readonly extra: JsonObject;
}

/**
 * At least one message that follows the prompt. The model is trained only on the assistant's messages. Instead of
 * messages, an answer may be one recorded Choice with its tokens.
 */
export type AnswerMessages = readonly HistoryItem[];

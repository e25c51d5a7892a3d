// An example of preference training: a prompt with a preferred answer, a rejected one, or both.
import type { JsonObject } from "../text/json.ts";
import type { HistoryItem, MessageRecord } from "../trajectory.ts";

/** A prompt with one or two answers. Only KTO accepts a single answer. */
export interface PreferenceExample {
  /** The prompt as sent, with the API's field names. */
  readonly messages: readonly MessageRecord[];
  readonly tools: readonly JsonObject[] | null;
  readonly chosen: AnswerMessages | null;
  readonly rejected: AnswerMessages | null;
  /** Other fields sent with it, such as arguments of the chat template. */
  readonly extra: JsonObject;
}

/**
 * Messages that follow the prompt, at least one. Only the assistant's messages are trained on. An answer may instead
 * be one recorded choice with its tokens.
 */
export type AnswerMessages = readonly HistoryItem[];

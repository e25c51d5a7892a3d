// What preference training shows a model: a prompt, and an answer that people preferred, one that they did not, or both.
import type { JsonObject } from "../text/json.ts";
import type { HistoryItem, MessageRecord } from "../trajectory.ts";

/** Of the two answers one may be missing where each is judged by itself (KTO); one at least is there. */
export interface PreferenceExample {
  /** What was answered, as it was sent, in the API's own spelling. */
  readonly messages: readonly MessageRecord[];
  readonly tools: readonly JsonObject[] | null;
  readonly chosen: AnswerMessages | null;
  readonly rejected: AnswerMessages | null;
  /** Everything else that was sent with it, such as what the chat template is given. */
  readonly extra: JsonObject;
}

/** What follows the prompt, at least one: messages, of which the assistant's train; or a recorded choice alone, by its tokens. */
export type AnswerMessages = readonly HistoryItem[];

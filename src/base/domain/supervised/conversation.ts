// An example of supervised fine-tuning: a conversation with the answers to learn.
import type { JsonObject } from "../text/json.ts";
import type { MessageRecord } from "../trajectory.ts";

/** One conversation. Its assistant messages are trained on, except those with `weight` 0. */
export interface ExampleConversation {
  /** Messages as sent, with the API's field names. */
  readonly messages: readonly MessageRecord[];
  readonly tools: readonly JsonObject[] | null;
  /** Other fields sent with it, such as arguments of the chat template. */
  readonly extra: JsonObject;
}

// An example for supervised fine-tuning: a conversation with the answers that the model should learn.
import type { JsonObject } from "../text/json.ts";
import type { MessageRecord } from "../trajectory.ts";

/** One conversation. The model is trained on its assistant messages, except those with `weight` 0. */
export interface ExampleConversation {
  /** Messages as the client sent them, with the API's field names. */
  readonly messages: readonly MessageRecord[];
  readonly tools: readonly JsonObject[] | null;
  /** Other fields that the client sent with the conversation, such as arguments of the chat template. */
  readonly extra: JsonObject;
}

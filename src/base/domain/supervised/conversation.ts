// What supervised fine-tuning shows a model: conversations with the answers that it should give.
import type { JsonObject } from "../text/json.ts";
import type { MessageRecord } from "../trajectory.ts";

/** One conversation; its assistant messages train, but for those whose `weight` is 0. */
export interface ExampleConversation {
  /** As they were sent, in the API's own spelling. */
  readonly messages: readonly MessageRecord[];
  readonly tools: readonly JsonObject[] | null;
  /** Everything else that was sent with it, such as what the chat template is given. */
  readonly extra: JsonObject;
}

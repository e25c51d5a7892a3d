// Answers of models in the form of Anthropic's Messages API, whole or as they are made. They are sent again where nobody
// answers: nothing of them is kept.
import type {
  AnthropicCountRequest,
  AnthropicEvent,
  AnthropicMessage,
  AnthropicMessageRequest,
  AnthropicTokenCount,
} from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";

const isRepeatable = true;

type Unstreamed = Omit<AnthropicMessageRequest, "stream">;

/** `hone.messages` */
export class MessageCalls extends CallGroup {
  /** The message, whole. */
  create(body: Unstreamed, options?: RequestOptions): Promise<AnthropicMessage> {
    return this.calls.value("POST /v1/messages", { body }, { isRepeatable, ...options });
  }

  /** Its events as it is made; leaving the loop ends it. What goes wrong on the way is an event `error`. */
  stream(body: Unstreamed, options?: RequestOptions): AsyncGenerator<AnthropicEvent> {
    const streamed = { body: { ...body, stream: true } };
    return this.calls.events("POST /v1/messages", streamed, { isRepeatable, ...options });
  }

  /** How many tokens the prompt has. */
  countTokens(body: AnthropicCountRequest, options?: RequestOptions): Promise<AnthropicTokenCount> {
    return this.calls.value("POST /v1/messages/count_tokens", { body }, { isRepeatable, ...options });
  }
}

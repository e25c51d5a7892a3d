// The one way from a conversation to the token ids of a prompt, for serving and for training alike: were there two, a
// model would train on other prompts than it is served.
import { chatFault, type Conversation } from "../domain/chat.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { ChatTemplate } from "./chat-template.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * Renders and tokenizes. The template writes special tokens itself, so none are added.
 *
 * @param options.contextLength when given, a prompt that leaves no room for an answer is refused, and a far too long one
 * before the time to tokenize it is spent
 * @throws ServiceError `unsupported` for a prompt that is empty or too long, and as {@link ChatTemplate.render} does
 */
export function renderPrompt(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  conversation: Conversation,
  options: { readonly contextLength?: number } = {},
): number[] {
  const { contextLength = Infinity } = options;
  const messageCount = conversation.messages.length;
  // A template shows each message by a token at least, and takes as long to show the last as the first.
  if (messageCount >= contextLength) throw tooLong(contextLength, `at least ${messageCount}`);
  const text = template.render(conversation);
  const leastCount = tokenizer.leastTokenCount(text);
  if (leastCount >= contextLength) throw tooLong(contextLength, `at least ${leastCount}`);
  const ids = tokenizer.encode(text, { addSpecialTokens: false });
  if (ids.length === 0)
    throw fault("The chat template renders these messages to an empty prompt; send a message with content.");
  if (ids.length >= contextLength) throw tooLong(contextLength, String(ids.length));
  return ids;
}

function tooLong(contextLength: number, count: string): ServiceError {
  return fault(
    `This model's maximum context length is ${contextLength} tokens. However, your request has ${count} input tokens. ` +
      "Please reduce the length of the input messages.",
  );
}

function fault(message: string): ServiceError {
  return new ServiceError({
    code: "unsupported",
    faults: [chatFault("prompt.messages", { message, type: "value_error" })],
  });
}

// Creates errors about a tokenized prompt, located at the request field that contains the prompt.
import { chatFault, type ChatField, type ChatPrompt } from "../../base/domain/chat.ts";
import { ServiceError } from "../../base/domain/service-error.ts";

/** Error for a template that reached a limit; rendering may succeed with a higher limit. */
export class RenderLimitError extends ServiceError {}

/** Kind of a prompt; `rendered` is a conversation that was already rendered with a template from the request. */
export type PromptKind = ChatPrompt["kind"] | "rendered";

const fieldOf: { readonly [Kind in PromptKind]: ChatField } = {
  conversation: "prompt.messages",
  rendered: "prompt.messages",
  text: "prompt.text",
  tokens: "prompt.tokenIds",
};

/** Returns the API name of the field that contains a prompt of this kind. */
export function promptName(kind: PromptKind): string {
  return isConversation(kind) ? "messages" : "prompt";
}

function isConversation(kind: PromptKind): boolean {
  return kind === "conversation" || kind === "rendered";
}

/**
 * Returns the error for a prompt without tokens. If the request brought the template, the error names the template's
 * field.
 */
export function emptyRefusal(kind: PromptKind, message: string): ServiceError {
  if (kind !== "rendered") return promptRefusal(kind, message);
  const faults = [chatFault("prompt.template", { message, type: "value_error" })];
  return new ServiceError({ code: "unsupported", faults });
}

/** Returns the error for a prompt's content. */
export function promptRefusal(kind: PromptKind, message: string): ServiceError {
  const faults = [chatFault(fieldOf[kind], { message, type: "value_error" })];
  return new ServiceError({ code: "unsupported", faults });
}

/**
 * Returns the error for a prompt with too many tokens.
 *
 * @param count the prompt's number of tokens as text, such as `5000` or `at least 5000`
 */
export function promptTooLong(kind: PromptKind, contextLength: number, count: string): ServiceError {
  const message =
    `This model's maximum context length is ${contextLength} tokens. However, your request has ${count} input tokens. ` +
    `Please reduce the length of the ${isConversation(kind) ? "input messages" : "prompt"}.`;
  return promptRefusal(kind, message);
}

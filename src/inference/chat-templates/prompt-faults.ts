// What may be wrong with a prompt once it is tokens, whatever it was before, in words of the field that holds it.
import { chatFault, type ChatField, type ChatPrompt } from "../../base/domain/chat.ts";
import { ServiceError } from "../../base/domain/service-error.ts";

/** What holds a prompt; `rendered` is a conversation that a template of the request has rendered. */
export type PromptKind = ChatPrompt["kind"] | "rendered";

const fieldOf: { readonly [Kind in PromptKind]: ChatField } = {
  conversation: "prompt.messages",
  rendered: "prompt.messages",
  text: "prompt.text",
  tokens: "prompt.tokenIds",
};

/** What a client calls that which holds a prompt of this kind. */
export function promptName(kind: PromptKind): string {
  return isConversation(kind) ? "messages" : "prompt";
}

function isConversation(kind: PromptKind): boolean {
  return kind === "conversation" || kind === "rendered";
}

/** A refusal of a prompt without tokens; a template of the request is at fault for its own. */
export function emptyRefusal(kind: PromptKind, message: string): ServiceError {
  if (kind !== "rendered") return promptRefusal(kind, message);
  const faults = [chatFault("prompt.template", { message, type: "value_error" })];
  return new ServiceError({ code: "unsupported", faults });
}

/** A refusal of what a prompt holds. */
export function promptRefusal(kind: PromptKind, message: string): ServiceError {
  const faults = [chatFault(fieldOf[kind], { message, type: "value_error" })];
  return new ServiceError({ code: "unsupported", faults });
}

/** @param count how many tokens the prompt has, in words */
export function promptTooLong(kind: PromptKind, contextLength: number, count: string): ServiceError {
  const message =
    `This model's maximum context length is ${contextLength} tokens. However, your request has ${count} input tokens. ` +
    `Please reduce the length of the ${isConversation(kind) ? "input messages" : "prompt"}.`;
  return promptRefusal(kind, message);
}

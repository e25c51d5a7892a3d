// What may be wrong with a prompt once it is tokens, whatever it was before, in words of the field that holds it.
import { chatFault, type ChatField, type ChatPrompt } from "../domain/chat.ts";
import { ServiceError } from "../domain/service-error.ts";

type PromptKind = ChatPrompt["kind"];

const fieldOf: { readonly [Kind in PromptKind]: ChatField } = {
  conversation: "prompt.messages",
  text: "prompt.text",
  tokens: "prompt.tokenIds",
};

/** What a client calls that which holds a prompt of this kind. */
export function promptName(kind: PromptKind): string {
  return kind === "conversation" ? "messages" : "prompt";
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
    `Please reduce the length of the ${kind === "conversation" ? "input messages" : "prompt"}.`;
  return promptRefusal(kind, message);
}

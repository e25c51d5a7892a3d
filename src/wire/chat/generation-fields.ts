// The fields of a chat request that say how answers are drawn, ended and written, whatever they answer: a text completion
// has the same, with the same schemas and rules.
import { chatForm } from "./chat-fields.ts";
import { chatRequestSchema, type ChatRequestBody } from "./chat-request.ts";

/** Those that speak of a conversation, or that a text completion spells otherwise. */
const ofChats = [
  "messages",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "documents",
  "chat_template",
  "chat_template_kwargs",
  "add_generation_prompt",
  "continue_final_message",
  "add_special_tokens",
  "reasoning_effort",
  "include_reasoning",
  "mm_processor_kwargs",
  "max_tokens",
  "max_completion_tokens",
  "logprobs",
  "top_logprobs",
  "echo",
] as const satisfies readonly (keyof ChatRequestBody)[];

/** What of a body has these fields, beside others. */
export type GenerationBody = Omit<ChatRequestBody, (typeof ofChats)[number]>;

export const generationSchemas = without(chatRequestSchema.properties, ofChats);
export const generationRules = without(chatForm.fields, ofChats);

function without<Value extends object, Name extends keyof Value & string>(
  value: Value,
  names: readonly Name[],
): Omit<Value, Name> {
  const others = Object.entries(value).filter(([name]) => !names.some((other) => other === name));
  // These are all others.
  return Object.fromEntries(others) as Omit<Value, Name>;
}

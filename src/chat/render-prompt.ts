// A chat request's prompt as token ids, through the one renderer that training uses too.
import { chatFault, type ChatPrompt } from "../domain/chat.ts";
import { ServiceError } from "../domain/service-error.ts";
import { renderPrompt } from "../tokenizer/render-prompt.ts";
import { servedLimits } from "./served-base.ts";
import type { ServedBase } from "./served-base.ts";

/**
 * @returns at least one id, fewer than the context length
 * @throws ServiceError `unavailable` while the engine is not up, `unsupported` when the template refuses the messages, or
 * the prompt leaves no room for an answer
 */
export function renderChatPrompt(prompt: ChatPrompt, base: ServedBase): readonly number[] {
  const { contextLength, vocabularySize } = servedLimits(base);
  const ids = renderPrompt(base.tokenizer, base.template, prompt, { contextLength });
  const strange = ids.find((id) => id >= vocabularySize);
  if (strange === undefined) return ids;
  const token = JSON.stringify(base.tokenizer.tokenText(strange));
  const message = `The messages hold the token ${token} (id ${strange}); the model ${base.model.name} knows ids below ${vocabularySize}.`;
  const faults = [chatFault("prompt.messages", { message, type: "value_error" })];
  throw new ServiceError({ code: "unsupported", faults });
}

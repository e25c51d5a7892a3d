// For tests: writes prompts in the calling thread, without limits.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { loadChatTemplate } from "../../chat-templates/load-chat-template.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import { readTokens, writePrompt, type PromptWriter } from "../prompts/write-prompt.ts";

/** Returns a prompt writer for the model in that folder. */
export async function directPrompts(folder: string): Promise<PromptWriter> {
  const [tokenizer, template] = await Promise.all([loadTokenizer(folder), loadChatTemplate(folder)]);
  return {
    write: async (task, { signal }) => {
      throwIfAborted(signal);
      return writePrompt(tokenizer, template, task);
    },
    read: async (tokenIds, { signal }) => {
      throwIfAborted(signal);
      return readTokens(tokenizer, tokenIds);
    },
  };
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ServiceError({ code: "cancelled", message: "The request was cancelled." });
}

// A chat request's prompt as token ids, through the one renderer that training uses too, and its bad words. Takes as
// long as the template and the text make it: serving calls it in threads of its own (prompt-threads).
import { chatFault, type Conversation } from "../../domain/chat.ts";
import { ServiceError } from "../../domain/service-error.ts";
import type { ChatTemplate } from "../../tokenizer/chat-template.ts";
import { renderPrompt, type RenderOptions } from "../../tokenizer/render-prompt.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";

/** What of a request is rendered and tokenized, and for which limits of the model. */
export interface PromptTask {
  readonly conversation: Conversation;
  /** Not empty texts. */
  readonly badWords: readonly string[];
  readonly modelName: string;
  readonly contextLength: number;
  readonly vocabularySize: number;
}

export interface WrittenPrompt {
  /** At least one, fewer than the context length. */
  readonly tokenIds: readonly number[];
  /** Each word in every spelling that is forbidden. */
  readonly badWordIds: readonly (readonly number[])[];
}

/** Turns conversations into prompts. */
export interface PromptWriter {
  /**
   * @throws ServiceError as {@link writePrompt}; `overloaded` when too many wait, or this waited too long; `cancelled`
   * when the signal aborts
   */
  write(
    task: PromptTask,
    options: { readonly client: string; readonly signal: AbortSignal },
  ): Promise<WrittenPrompt>;
}

/**
 * @throws ServiceError `unsupported` when the template refuses the messages, or the prompt leaves no room for an answer;
 * `RenderLimitError` where the template reaches a limit
 */
export function writePrompt(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  task: PromptTask,
  options: Pick<RenderOptions, "limits" | "onRendered"> = {},
): WrittenPrompt {
  const { conversation, contextLength, vocabularySize, badWords } = task;
  const tokenIds = renderPrompt(tokenizer, template, conversation, { ...options, contextLength });
  const strange = tokenIds.find((id) => id >= vocabularySize);
  if (strange !== undefined) throw unknownToken(strange, tokenizer, task);
  return { tokenIds, badWordIds: badWords.flatMap((word) => badWordIds(word, tokenizer)) };
}

function unknownToken(id: number, tokenizer: Tokenizer, task: PromptTask): ServiceError {
  const token = JSON.stringify(tokenizer.tokenText(id));
  const message = `The messages hold the token ${token} (id ${id}); the model ${task.modelName} knows ids below ${task.vocabularySize}.`;
  const faults = [chatFault("prompt.messages", { message, type: "value_error" })];
  return new ServiceError({ code: "unsupported", faults });
}

/**
 * The tokens of a word as it begins a text, and as it follows a blank where that changes its first token alone: vLLM's rule,
 * whose interface this is.
 */
function badWordIds(word: string, tokenizer: Tokenizer): readonly (readonly number[])[] {
  const encode = (text: string): readonly number[] => tokenizer.encode(text, { addSpecialTokens: false });
  const first = encode(word.trimStart());
  const second = encode(` ${word.trimStart()}`);
  const isOther = second.length === first.length && second[0] !== first[0];
  return isOther ? [first, second] : [first];
}

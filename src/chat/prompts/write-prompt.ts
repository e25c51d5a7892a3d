// A chat request's prompt as token ids, through the one renderer that training uses too, and its bad words. Takes as
// long as the template and the text make it: serving calls it in threads of its own (prompt-threads).
import { unreachable } from "../../domain/assert.ts";
import type { ChatPrompt } from "../../domain/chat.ts";
import type { ServiceError } from "../../domain/service-error.ts";
import type { ChatTemplate } from "../../tokenizer/chat-template.ts";
import { promptName, promptRefusal, promptTooLong } from "../../tokenizer/prompt-faults.ts";
import { encodePrompt, renderPrompt, type RenderOptions } from "../../tokenizer/render-prompt.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";

/** What of a request is rendered and tokenized, and for which limits of the model. */
export interface PromptTask {
  readonly prompt: ChatPrompt;
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

/** Turns what is asked into prompts. */
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
  const { vocabularySize, badWords } = task;
  const tokenIds = promptTokens(tokenizer, template, task, options);
  const strange = tokenIds.find((id) => id >= vocabularySize);
  if (strange !== undefined) throw unknownToken(strange, tokenizer, task);
  return { tokenIds, badWordIds: badWords.flatMap((word) => badWordIds(word, tokenizer)) };
}

function promptTokens(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  { prompt, contextLength }: PromptTask,
  options: Pick<RenderOptions, "limits" | "onRendered">,
): readonly number[] {
  const { kind } = prompt;
  switch (kind) {
    case "conversation":
      return renderPrompt(tokenizer, template, prompt, { ...options, contextLength });
    case "text":
      options.onRendered?.();
      return encodePrompt(tokenizer, prompt.text, { ...prompt, contextLength });
    case "tokens": {
      options.onRendered?.();
      const { length } = prompt.tokenIds;
      if (length === 0) throw promptRefusal(kind, "The prompt is empty; send at least one token id.");
      if (length >= contextLength) throw promptTooLong(kind, contextLength, String(length));
      return prompt.tokenIds;
    }
    default:
      return unreachable(kind);
  }
}

function unknownToken(id: number, tokenizer: Tokenizer, task: PromptTask): ServiceError {
  const { kind } = task.prompt;
  const token = JSON.stringify(tokenizer.tokenText(id));
  const message = `The ${promptName(kind)} cannot hold the token ${token} (id ${id}); the model ${task.modelName} knows ids below ${task.vocabularySize}.`;
  return promptRefusal(kind, message);
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

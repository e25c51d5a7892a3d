// Writes the prompt of a chat request as token ids, and the token ids of its bad words. Uses the same renderer as
// training. How long this takes depends on the template and the text, so serving runs it in threads (prompt-threads).
import type { ChatPrompt } from "../../../base/domain/chat.ts";
import type { ServiceError } from "../../../base/domain/service-error.ts";
import type { ChatTemplate } from "../../chat-templates/chat-template.ts";
import { encodePrompt, fitPrompt, type PromptFit } from "../../chat-templates/encode-prompt.ts";
import { promptName, promptRefusal } from "../../chat-templates/prompt-faults.ts";
import { renderPrompt, type RenderOptions } from "../../chat-templates/render-prompt.ts";
import type { Tokenizer } from "../../../lib/tokenizer/tokenizer.ts";

/** A conversation that was already rendered with a template from the request. */
export interface RenderedPrompt {
  readonly kind: "rendered";
  readonly text: string;
  readonly addSpecialTokens: boolean;
}

/** Fields of a request that are rendered and tokenized, and the model's limits for them. */
export interface PromptTask {
  readonly prompt: ChatPrompt | RenderedPrompt;
  readonly fit: PromptFit;
  /** True if the result must include the text of each token. */
  readonly wantsTexts: boolean;
  /** Bad words, which must not appear in the answer; none of them is empty. */
  readonly badWords: readonly string[];
  readonly modelName: string;
  /** Number of ids in the vocabulary. All ids in the prompt must be lower. */
  readonly vocabularySize: number;
}

export interface WrittenPrompt {
  /** Token ids of the prompt, truncated to fit. */
  readonly tokenIds: readonly number[];
  /** Text of each token, as the tokenizer spells it; null if not requested. */
  readonly texts: readonly string[] | null;
  /** Token ids of the bad words. A word has one entry for each way in which it is tokenized. */
  readonly badWordIds: readonly (readonly number[])[];
}

/** Writes prompts, and converts tokens back into text. */
export interface PromptWriter {
  /**
   * Renders and tokenizes a prompt, after those that were queued before it.
   *
   * @throws ServiceError as {@link writePrompt}; `overloaded` when too many prompts wait or this prompt has waited too
   * long; `cancelled` when the signal aborts
   */
  write(
    task: PromptTask,
    options: { readonly client: string; readonly signal: AbortSignal },
  ): Promise<WrittenPrompt>;
  /**
   * Returns the text of tokens, including special tokens. Waits in the same queue as `write`, and may then fail with
   * the same errors.
   */
  read(
    tokenIds: readonly number[],
    options: { readonly client: string; readonly signal: AbortSignal },
  ): Promise<string>;
}

/**
 * Renders and tokenizes a prompt, and tokenizes its bad words.
 *
 * @throws ServiceError `unsupported` when the template refuses the messages, or the prompt does not fit;
 * `RenderLimitError` if the template reaches a limit
 */
export function writePrompt(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  task: PromptTask,
  options: Pick<RenderOptions, "limits" | "onRendered"> = {},
): WrittenPrompt {
  const { vocabularySize, badWords, wantsTexts } = task;
  const tokenIds = promptTokens(tokenizer, template, task, options);
  const strange = tokenIds.find((id) => id >= vocabularySize);
  if (strange !== undefined) throw unknownToken(strange, tokenizer, task);
  return {
    tokenIds,
    texts: wantsTexts ? tokenIds.map((id) => tokenizer.tokenSpelling(id)) : null,
    badWordIds: badWords.flatMap((word) => badWordIds(word, tokenizer)),
  };
}

/**
 * Returns the prompt if it already consists of valid token ids. Returns null if writing it needs the tokenizer, even if
 * only to explain a fault.
 */
export function writeTokenIds({
  prompt,
  fit,
  wantsTexts,
  badWords,
  vocabularySize,
}: PromptTask): WrittenPrompt | null {
  if (prompt.kind !== "tokens" || wantsTexts || badWords.length > 0) return null;
  const tokenIds = fitPrompt(prompt.tokenIds, prompt.kind, fit);
  return tokenIds.every((id) => id < vocabularySize) ? { tokenIds, texts: null, badWordIds: [] } : null;
}

/** Returns the text of tokens, including special tokens. */
export function readTokens(tokenizer: Tokenizer, tokenIds: readonly number[]): string {
  return tokenizer.decode(tokenIds, { skipSpecialTokens: false });
}

function promptTokens(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  { prompt, fit }: PromptTask,
  options: Pick<RenderOptions, "limits" | "onRendered">,
): readonly number[] {
  if (prompt.kind === "conversation") {
    const { addSpecialTokens } = prompt;
    const used = prompt.template === null ? template : template.withSource(prompt.template);
    const isRequests = prompt.template !== null;
    return renderPrompt(tokenizer, used, prompt, { ...options, fit, addSpecialTokens, isRequests });
  }
  options.onRendered?.();
  const { kind } = prompt;
  return kind === "tokens"
    ? fitPrompt(prompt.tokenIds, kind, fit)
    : encodePrompt(tokenizer, prompt.text, { kind, fit, addSpecialTokens: prompt.addSpecialTokens });
}

/** Returns the kind of prompt that the request contained. */
export function requestedKind({ kind }: PromptTask["prompt"]): ChatPrompt["kind"] {
  return kind === "rendered" ? "conversation" : kind;
}

function unknownToken(id: number, tokenizer: Tokenizer, task: PromptTask): ServiceError {
  const kind = requestedKind(task.prompt);
  const token = JSON.stringify(tokenizer.tokenText(id));
  const message = `The ${promptName(kind)} cannot hold the token ${token} (id ${id}); the model ${task.modelName} knows ids below ${task.vocabularySize}.`;
  return promptRefusal(kind, message);
}

/**
 * Returns the tokens of a word at the start of a text. If the word has the same tokens after a blank except for the
 * first one, also returns the tokens after a blank. This is vLLM's rule for `bad_words`.
 */
function badWordIds(word: string, tokenizer: Tokenizer): readonly (readonly number[])[] {
  const encode = (text: string): readonly number[] => tokenizer.encode(text, { addSpecialTokens: false });
  const first = encode(word.trimStart());
  const second = encode(` ${word.trimStart()}`);
  const isOther = second.length === first.length && second[0] !== first[0];
  return isOther ? [first, second] : [first];
}

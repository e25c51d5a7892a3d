// A chat request's prompt as token ids, through the one renderer that training uses too, and its bad words. Takes as
// long as the template and the text make it: serving calls it in threads of its own (prompt-threads).
import type { ChatPrompt } from "../../../base/domain/chat.ts";
import type { ServiceError } from "../../../base/domain/service-error.ts";
import type { ChatTemplate } from "../../chat-templates/chat-template.ts";
import { encodePrompt, fitPrompt, type PromptFit } from "../../chat-templates/encode-prompt.ts";
import { promptName, promptRefusal } from "../../chat-templates/prompt-faults.ts";
import { renderPrompt, type RenderOptions } from "../../chat-templates/render-prompt.ts";
import type { Tokenizer } from "../../../lib/tokenizer/tokenizer.ts";

/** A conversation that a template of the request has rendered already. */
export interface RenderedPrompt {
  readonly kind: "rendered";
  readonly text: string;
  readonly addSpecialTokens: boolean;
}

/** What of a request is rendered and tokenized, and for which limits of the model. */
export interface PromptTask {
  readonly prompt: ChatPrompt | RenderedPrompt;
  readonly fit: PromptFit;
  /** Whether each token is wanted as the tokenizer spells it, too. */
  readonly wantsTexts: boolean;
  /** Not empty texts. */
  readonly badWords: readonly string[];
  readonly modelName: string;
  /** Ids of the prompt are below it. */
  readonly vocabularySize: number;
}

export interface WrittenPrompt {
  /** As many as fit. */
  readonly tokenIds: readonly number[];
  /** Each token as the tokenizer spells it; null where they were not wanted. */
  readonly texts: readonly string[] | null;
  /** Each word in every spelling that is forbidden. */
  readonly badWordIds: readonly (readonly number[])[];
}

/** Turns what is asked into prompts, and tokens back into text. */
export interface PromptWriter {
  /**
   * @throws ServiceError as {@link writePrompt}; `overloaded` when too many wait, or this waited too long; `cancelled`
   * when the signal aborts
   */
  write(
    task: PromptTask,
    options: { readonly client: string; readonly signal: AbortSignal },
  ): Promise<WrittenPrompt>;
  /** The text of tokens, special ones too; throws as `write` does for what waits or is aborted. */
  read(
    tokenIds: readonly number[],
    options: { readonly client: string; readonly signal: AbortSignal },
  ): Promise<string>;
}

/**
 * @throws ServiceError `unsupported` when the template refuses the messages, or the prompt does not fit; `RenderLimitError`
 * where the template reaches a limit
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

/** A prompt of token ids, for which no tokenizer is needed; null for what needs one, be it to say what is wrong with it. */
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

/** The text of tokens, special ones too. */
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

/** What the request held. */
export function askedKind({ kind }: PromptTask["prompt"]): ChatPrompt["kind"] {
  return kind === "rendered" ? "conversation" : kind;
}

function unknownToken(id: number, tokenizer: Tokenizer, task: PromptTask): ServiceError {
  const kind = askedKind(task.prompt);
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

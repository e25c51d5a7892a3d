// From a prompt's text, or its tokens, to the tokens that a model is given: cut where that was asked for, refused where they
// leave no room for an answer.
import type { ChatPrompt } from "../domain/chat.ts";
import { promptRefusal, promptTooLong } from "./prompt-faults.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** What a prompt must keep to. */
export interface PromptFit {
  /** Of the model; a prompt has fewer tokens. */
  readonly contextLength: number;
  /** Keeps the last so many tokens, at least 1; null keeps all. */
  readonly keepLast: number | null;
}

/**
 * Tokenizes what is to be a prompt of its kind.
 *
 * @throws ServiceError `unsupported` for a prompt that is empty, or leaves no room for an answer; a far too long one before
 * it is tokenized
 */
export function encodePrompt(
  tokenizer: Tokenizer,
  text: string,
  options: PromptFit & {
    readonly kind: ChatPrompt["kind"];
    readonly addSpecialTokens: boolean;
  },
): readonly number[] {
  const { kind, contextLength, keepLast, addSpecialTokens } = options;
  const leastCount = keepLast === null ? tokenizer.leastTokenCount(text) : 0;
  if (leastCount >= contextLength) throw promptTooLong(kind, contextLength, `at least ${leastCount}`);
  return fitPrompt(tokenizer.encode(text, { addSpecialTokens }), options);
}

const emptyPrompt: Readonly<Record<ChatPrompt["kind"], string>> = {
  conversation: "The chat template renders these messages to an empty prompt; send a message with content.",
  text: "The prompt is empty; send a text with at least one token.",
  tokens: "The prompt is empty; send at least one token id.",
};

/**
 * The tokens that are kept.
 *
 * @throws ServiceError `unsupported` as {@link encodePrompt}
 */
export function fitPrompt(
  tokenIds: readonly number[],
  { kind, contextLength, keepLast }: PromptFit & { readonly kind: ChatPrompt["kind"] },
): readonly number[] {
  const kept = keepLast === null ? tokenIds : tokenIds.slice(-keepLast);
  if (kept.length === 0) throw promptRefusal(kind, emptyPrompt[kind]);
  if (kept.length >= contextLength) throw promptTooLong(kind, contextLength, String(kept.length));
  return kept;
}

// Converts a prompt's text or tokens into the model's input tokens. Truncates the prompt on request, and refuses a
// prompt that leaves no room for an answer.
import { emptyRefusal, promptRefusal, promptTooLong, type PromptKind } from "./prompt-faults.ts";
import type { Tokenizer } from "../../lib/tokenizer/tokenizer.ts";

/** Length limits of a prompt. */
export type PromptFit =
  | {
      readonly purpose: "answer";
      /**
       * Context length of the model. The prompt must have at least one token, and fewer tokens than the context
       * length.
       */
      readonly contextLength: number;
      /** Number of tokens that truncation keeps at the prompt's end, at least 1; null to keep all tokens. */
      readonly keepLast: number | null;
    }
  /** No answer follows, as for embeddings, so the prompt may fill the context. It must have at least one token. */
  | { readonly purpose: "embed"; readonly countMax: number }
  /** No answer follows, as for counting tokens, and the prompt may be empty. */
  | { readonly purpose: "count"; readonly countMax: number };

/** Accepts a prompt of any length except 0. */
export const unlimitedFit: PromptFit = { purpose: "answer", contextLength: Infinity, keepLast: null };

/**
 * Tokenizes a prompt.
 *
 * @throws ServiceError `unsupported` for a prompt that does not fit; a prompt that is far too long is refused before it
 * is tokenized
 */
export function encodePrompt(
  tokenizer: Tokenizer,
  text: string,
  {
    kind,
    fit,
    addSpecialTokens,
  }: {
    readonly kind: PromptKind;
    readonly fit: PromptFit;
    readonly addSpecialTokens: boolean;
  },
): readonly number[] {
  requireMinimumFits(tokenizer.leastTokenCount(text), kind, fit);
  return fitPrompt(tokenizer.encode(text, { addSpecialTokens }), kind, fit);
}

const emptyPrompt: Readonly<Record<PromptKind, string>> = {
  conversation: "The chat template renders these messages to an empty prompt; send a message with content.",
  rendered: "The template renders these messages to an empty prompt; it must write some text.",
  text: "The prompt is empty; send a text with at least one token.",
  tokens: "The prompt is empty; send at least one token id.",
};

/**
 * Truncates the tokens of a prompt if required, and checks that they fit.
 *
 * @throws ServiceError `unsupported` as {@link encodePrompt}
 */
export function fitPrompt(tokenIds: readonly number[], kind: PromptKind, fit: PromptFit): readonly number[] {
  const isAnswered = fit.purpose === "answer";
  const kept = isAnswered && fit.keepLast !== null ? tokenIds.slice(-fit.keepLast) : tokenIds;
  if (fit.purpose !== "count" && kept.length === 0) throw emptyRefusal(kind, emptyPrompt[kind]);
  requireFits(kept.length, kind, fit);
  return kept;
}

/**
 * Refuses a prompt if `count`, its minimum number of tokens, does not fit. Accepts it if the prompt will be truncated.
 */
export function requireMinimumFits(count: number, kind: PromptKind, fit: PromptFit): void {
  const isCut = fit.purpose === "answer" && fit.keepLast !== null;
  if (!isCut) requireFits(count, kind, fit, "at least ");
}

/** Refuses a prompt whose number of tokens does not fit. `atLeast` is put before that number in the error message. */
export function requireFits(count: number, kind: PromptKind, fit: PromptFit, atLeast = ""): void {
  if (fit.purpose === "answer") {
    if (count >= fit.contextLength) throw promptTooLong(kind, fit.contextLength, `${atLeast}${count}`);
  } else if (count > fit.countMax) {
    if (fit.purpose === "embed") throw promptTooLong(kind, fit.countMax, `${atLeast}${count}`);
    const message = `This is ${atLeast}${count} tokens; at most ${fit.countMax} are counted. Send less text.`;
    throw promptRefusal(kind, message);
  }
}

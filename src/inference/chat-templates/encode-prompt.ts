// From a prompt's text, or its tokens, to the tokens that a model is given: cut where that was asked for, refused where they
// leave no room for an answer.
import { emptyRefusal, promptRefusal, promptTooLong, type PromptKind } from "./prompt-faults.ts";
import type { Tokenizer } from "../../lib/tokenizer/tokenizer.ts";

/** What a prompt must keep to. */
export type PromptFit =
  | {
      readonly purpose: "answer";
      /** Of the model; the prompt has a token, and fewer than these. */
      readonly contextLength: number;
      /** Keeps the last so many tokens, at least 1; null keeps all. */
      readonly keepLast: number | null;
    }
  /** Nothing answers it, and it may be as long as the model takes; it has a token. */
  | { readonly purpose: "embed"; readonly countMax: number }
  /** Nothing answers it: it may be empty. */
  | { readonly purpose: "count"; readonly countMax: number };

/** What every prompt keeps to but an empty one. */
export const unlimitedFit: PromptFit = { purpose: "answer", contextLength: Infinity, keepLast: null };

/**
 * Tokenizes what is to be a prompt of its kind.
 *
 * @throws ServiceError `unsupported` for a prompt that does not fit; a far too long one before it is tokenized
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
  requireLeast(tokenizer.leastTokenCount(text), kind, fit);
  return fitPrompt(tokenizer.encode(text, { addSpecialTokens }), kind, fit);
}

const emptyPrompt: Readonly<Record<PromptKind, string>> = {
  conversation: "The chat template renders these messages to an empty prompt; send a message with content.",
  rendered: "The template renders these messages to an empty prompt; it must write something of them.",
  text: "The prompt is empty; send a text with at least one token.",
  tokens: "The prompt is empty; send at least one token id.",
};

/**
 * The tokens that are kept.
 *
 * @throws ServiceError `unsupported` as {@link encodePrompt}
 */
export function fitPrompt(tokenIds: readonly number[], kind: PromptKind, fit: PromptFit): readonly number[] {
  const isAnswered = fit.purpose === "answer";
  const kept = isAnswered && fit.keepLast !== null ? tokenIds.slice(-fit.keepLast) : tokenIds;
  if (fit.purpose !== "count" && kept.length === 0) throw emptyRefusal(kind, emptyPrompt[kind]);
  requireLength(kept.length, kind, fit);
  return kept;
}

/** Refuses what has so many tokens at least, unless it is cut. */
export function requireLeast(count: number, kind: PromptKind, fit: PromptFit): void {
  const isCut = fit.purpose === "answer" && fit.keepLast !== null;
  if (!isCut) requireLength(count, kind, fit, "at least ");
}

/** Refuses so many tokens, or `at least` so many. */
export function requireLength(count: number, kind: PromptKind, fit: PromptFit, atLeast = ""): void {
  if (fit.purpose === "answer") {
    if (count >= fit.contextLength) throw promptTooLong(kind, fit.contextLength, `${atLeast}${count}`);
  } else if (count > fit.countMax) {
    if (fit.purpose === "embed") throw promptTooLong(kind, fit.countMax, `${atLeast}${count}`);
    const message = `This is ${atLeast}${count} tokens; at most ${fit.countMax} are counted. Send less text.`;
    throw promptRefusal(kind, message);
  }
}

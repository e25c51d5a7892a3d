// Describes a byte-level tokenizer of a Hugging Face folder as the keys of a GGUF file, as llama.cpp's converter writes
// them. Exports of models with other tokenizers are refused.
import type { TypedMetadata, TypedValue } from "../type-numbers.ts";
import { tokenKinds } from "../gguf-tokenizer.ts";

type Json = Readonly<Record<string, unknown>>;

/** Files of a folder from which a tokenizer is written. */
export interface TokenizerSource {
  /** Content of tokenizer.json. */
  readonly tokenizer: Json;
  /** Number of rows of the embedding. There must be a token for each row. */
  readonly vocabularySize: number;
  /** Name of the pre-tokenizer (`tokenizer.ggml.pre`). */
  readonly preTokenizer: string;
}

/** Returns the keys of a byte-level tokenizer. */
export function writtenByteLevel(source: TokenizerSource): TypedMetadata {
  const { tokenizer, preTokenizer } = source;
  const { tokens, kinds } = listedTokens(source);
  return new Map<string, TypedValue>([
    ["tokenizer.ggml.model", { type: "text", value: "gpt2" }],
    ["tokenizer.ggml.pre", { type: "text", value: preTokenizer }],
    ["tokenizer.ggml.tokens", { type: "text", value: tokens }],
    ["tokenizer.ggml.token_type", { type: "int32", value: kinds }],
    ["tokenizer.ggml.merges", { type: "text", value: mergeTexts(modelOf(tokenizer)["merges"]) }],
  ]);
}

/** Returns the model of tokenizer.json. */
export function modelOf(tokenizer: Json): Json {
  // Safe cast: parsed from JSON.
  return (tokenizer["model"] ?? {}) as Json;
}

export interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special?: boolean;
}

/** Returns the added tokens of tokenizer.json. */
export function addedTokensOf(tokenizer: Json): readonly AddedToken[] {
  // Safe cast: Hone has loaded this tokenizer.
  return (tokenizer["added_tokens"] ?? []) as readonly AddedToken[];
}

/** Returns the token of each id, and its kind. Ids without a token get a filler, which no text contains. */
export function listedTokens({
  tokenizer,
  vocabularySize,
}: Pick<TokenizerSource, "tokenizer" | "vocabularySize">): {
  readonly tokens: readonly string[];
  readonly kinds: readonly number[];
} {
  const tokens = Array.from({ length: vocabularySize }, (_, id) => `[PAD${id}]`);
  const kinds = Array<number>(vocabularySize).fill(tokenKinds.unused);
  const put = (id: number, token: string, kind: number): void => {
    if (id >= vocabularySize) return;
    [tokens[id], kinds[id]] = [token, kind];
  };
  // Safe cast: Hone has loaded this tokenizer.
  const vocabulary = (modelOf(tokenizer)["vocab"] ?? {}) as Readonly<Record<string, number>>;
  for (const [token, id] of Object.entries(vocabulary)) put(id, token, tokenKinds.normal);
  for (const { id, content, special } of addedTokensOf(tokenizer)) {
    if (special === true || looksSpecial(content)) put(id, content, tokenKinds.control);
    else put(id, content.replaceAll("\u2581", " "), tokenKinds.userDefined);
  }
  return { tokens, kinds };
}

/** True for names of tokens that some models should have marked as special. */
export function looksSpecial(token: string): boolean {
  return (
    ["<pad>", "<mask>", "<2mass>", "[@BOS@]"].includes(token) ||
    /^<\|.*\|>$/s.test(token) ||
    /^<｜.*｜>$/s.test(token) ||
    /^<unused.*>$/s.test(token)
  );
}

/** Returns merges as texts, in which a blank separates the two parts. */
function mergeTexts(merges: unknown): readonly string[] {
  if (!Array.isArray(merges)) return [];
  return merges.map((merge: unknown) =>
    Array.isArray(merge)
      ? merge.map((part) => String(part).replaceAll(" ", "\u0120")).join(" ")
      : String(merge),
  );
}

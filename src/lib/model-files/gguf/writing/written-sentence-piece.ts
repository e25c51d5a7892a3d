// Describes a tokenizer that was converted from SentencePiece (BPE with tokens for bytes) as the keys of a GGUF file,
// as llama.cpp's converter writes them from tokenizer.model. A score is derived from the order of the tokens.
import { tokenKinds } from "../gguf-tokenizer.ts";
import type { TypedMetadata, TypedValue } from "../type-numbers.ts";
import { addedTokensOf, looksSpecial, modelOf } from "./written-tokenizer.ts";

type Json = Readonly<Record<string, unknown>>;

export interface SentencePieceSource {
  /** Content of tokenizer.json. */
  readonly tokenizer: Json;
  /** Content of tokenizer_config.json. */
  readonly tokenizerConfig: Json;
  /** Number of rows of the embedding. There must be a token for each row. */
  readonly vocabularySize: number;
  /** Class of the model, whose converter in llama.cpp has rules of its own. */
  readonly className: string;
}

/** True for a tokenizer whose tokens are texts and single bytes. */
export function isSentencePiece(tokenizer: Json): boolean {
  const { type, byte_fallback: hasBytes, merges } = modelOf(tokenizer);
  return type === "BPE" && hasBytes === true && Array.isArray(merges);
}

/** Scores of tokens that no merge makes. */
const [addedScore, fillerScore] = [-1000, -10_000];

/** Returns the keys of the tokenizer, without those of special tokens. */
export function writtenSentencePiece(source: SentencePieceSource): TypedMetadata {
  const { tokens, scores, kinds } = listed(source);
  return new Map<string, TypedValue>([
    ...blankKey(source, "before"),
    ["tokenizer.ggml.model", { type: "text", value: "llama" }],
    ["tokenizer.ggml.pre", { type: "text", value: "default" }],
    ["tokenizer.ggml.tokens", { type: "text", value: tokens }],
    ["tokenizer.ggml.scores", { type: "float32", value: scores }],
    ["tokenizer.ggml.token_type", { type: "int32", value: kinds }],
  ]);
}

/**
 * Returns the key that says whether texts begin with a blank. The converter writes it before the other keys if
 * tokenizer_config.json has it, and after them for Gemma.
 */
export function blankKey(source: SentencePieceSource, place: "before" | "after"): TypedMetadata {
  const { tokenizerConfig, className, tokenizer } = source;
  const set = className === "Gemma3ForCausalLM" ? null : tokenizerConfig["add_prefix_space"];
  const begins = beginsWithBlank(tokenizer);
  const isBefore = typeof set === "boolean" && set === begins && className !== "Phi3ForCausalLM";
  const isWritten = place === "before" ? isBefore : !isBefore && !begins;
  return new Map(isWritten ? [["tokenizer.ggml.add_space_prefix", { type: "flag", value: begins }]] : []);
}

/** True if the tokenizer puts a blank before a text. */
function beginsWithBlank({ normalizer, pre_tokenizer: pieces }: Json): boolean {
  const text = JSON.stringify([normalizer, pieces]);
  return text.includes('"Prepend"') || /"prepend_scheme":"(?:first|always)"/.test(text);
}

function listed(source: SentencePieceSource) {
  const { tokenizer, vocabularySize } = source;
  const tokens = Array.from({ length: vocabularySize }, (_, id) => `[PAD${id}]`);
  const scores = Array<number>(vocabularySize).fill(fillerScore);
  const kinds = Array<number>(vocabularySize).fill(tokenKinds.unused);
  const put = (id: number, token: string, kind: number, score: number): void => {
    if (id < vocabularySize) [tokens[id], kinds[id], scores[id]] = [token, kind, score];
  };
  const added = new Map(addedTokensOf(tokenizer).map((token) => [token.id, token]));
  const { unk_token: unknown } = modelOf(tokenizer);
  const merged: [token: string, id: number][] = [];
  for (const [token, id] of vocabularyOf(tokenizer)) {
    if (token === unknown) put(id, token, tokenKinds.unknown, 0);
    else if (/^<0x[0-9A-F]{2}>$/.test(token)) put(id, token, tokenKinds.byte, 0);
    else if (added.has(id)) put(id, token, tokenKinds.control, 0);
    else merged.push([token, id]);
  }
  for (const [rank, [token, id]] of inMergeOrder(merged, tokenizer).entries())
    put(id, token, tokenKinds.normal, -rank);
  for (const { id, content, special } of overriding(source)) {
    const isPhi = source.className === "Phi3ForCausalLM";
    const isControl = special === true || (!isPhi && looksSpecial(content));
    const token = isControl || isPhi ? content : content.replaceAll("\u2581", " ");
    put(id, token, isControl ? tokenKinds.control : tokenKinds.userDefined, addedScore);
  }
  return { tokens, scores, kinds };
}

function vocabularyOf(tokenizer: Json): readonly (readonly [token: string, id: number])[] {
  // Safe cast: Hone has loaded this tokenizer.
  const entries = Object.entries((modelOf(tokenizer)["vocab"] ?? {}) as Readonly<Record<string, number>>);
  return entries.toSorted(([, one], [, other]) => one - other);
}

/**
 * Returns the added tokens by which the converter replaces entries of the vocabulary. These are the added tokens of
 * tokenizer_config.json or, without that list, the tokens of tokenizer.json that are not special. For Phi-3, they are
 * all tokens of both files.
 */
function overriding({ tokenizer, tokenizerConfig, className }: SentencePieceSource) {
  const own = addedTokensOf(tokenizer);
  // Safe cast: Transformers writes this list.
  const decoder = (tokenizerConfig["added_tokens_decoder"] ?? null) as Readonly<
    Record<string, { readonly content: string; readonly special?: boolean }>
  > | null;
  const configured = Object.entries(decoder ?? {}).map(([id, token]) => ({ ...token, id: Number(id) }));
  if (className === "Phi3ForCausalLM") return [...configured, ...own];
  return decoder === null ? own.filter(({ special }) => special !== true) : configured;
}

/**
 * Returns tokens in the order of SentencePiece's scores. This is the order of their ids, unless the merges have another
 * order.
 */
function inMergeOrder(
  tokens: readonly (readonly [token: string, id: number])[],
  tokenizer: Json,
): readonly (readonly [token: string, id: number])[] {
  const ranks = new Map<string, number>();
  // Safe cast: checked by `isSentencePiece`.
  for (const [rank, merge] of (modelOf(tokenizer)["merges"] as readonly unknown[]).entries()) {
    const made = Array.isArray(merge) ? merge.join("") : String(merge).replace(" ", "");
    if (!ranks.has(made)) ranks.set(made, rank);
  }
  const known = tokens.flatMap(([token]) => ranks.get(token) ?? []);
  if (known.every((rank, index) => index === 0 || known[index - 1] <= rank)) return tokens;
  const rankOf = (token: string): number => ranks.get(token) ?? ranks.size + tokens.length;
  return tokens.toSorted(([one], [other]) => rankOf(one) - rankOf(other));
}

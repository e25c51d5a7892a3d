// Vocabularies for tests: synthetic ones, and those of the repository's tokenizers.
import { readFileSync } from "node:fs";
import { createTokenDecoder } from "../../../tokenizer/tokenizer-json.ts";
import { buildTokenTrie } from "../trie/token-trie.ts";
import { syntheticVocabulary } from "../trie/synthetic-vocabulary.ts";
import type { TokenTrie } from "../trie/token-trie.ts";

export type Tokens = readonly (Uint8Array | null)[];

const encoder = new TextEncoder();

/** All single bytes, the given texts, and the first text twice. */
export function vocabularyOf(texts: readonly string[]): TokenTrie {
  const bytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
  return buildTokenTrie({
    bytes: [null, ...bytes, ...[...texts, ...texts.slice(0, 1)].map((text) => encoder.encode(text))],
  });
}

/** Returns the vocabulary of a tokenizer.json. */
export function vocabularyOfFile(path: string): TokenTrie {
  return buildTokenTrie({ bytes: tokensOfFile(path) });
}

/** Returns the tokens of a tokenizer.json by id; null for added tokens, which are control tokens. */
export function tokensOfFile(path: string): Tokens {
  return tokensOf(JSON.parse(readFileSync(path, "utf8")) as TokenizerFile);
}

/** The part of a tokenizer.json that defines its tokens' bytes. */
interface TokenizerFile {
  readonly model: { readonly vocab: Readonly<Record<string, number>> };
  readonly decoder: unknown;
  readonly added_tokens?: readonly { readonly id: number }[];
}

function tokensOf(file: TokenizerFile): Tokens {
  const decode = createTokenDecoder(file.decoder);
  const controls = new Set((file.added_tokens ?? []).map(({ id }) => id));
  const bytes: (Uint8Array | null)[] = [];
  for (const [token, id] of Object.entries(file.model.vocab))
    bytes[id] = controls.has(id) ? null : decode(token);
  for (const id of controls) bytes[id] = null;
  return Array.from(bytes, (token) => token ?? null);
}

const tinyFile = "models/hone-tiny/tokenizer.json";

/** A byte-level vocabulary grown from the built-in model's. */
export const byteLevelTokens = (tokenCount: number): Tokens =>
  syntheticVocabulary(tokensOfFile(tinyFile), tokenCount);

/**
 * A SentencePiece vocabulary: three control tokens, a token per byte, and texts of whole characters with ▁ for a
 * blank. Single-byte characters occur twice.
 */
export function byteFallbackTokens(tokenCount: number): Tokens {
  const decoder = new TextDecoder("utf-8", { fatal: false });
  const controls = ["<unk>", "<s>", "</s>"];
  const bytes = Array.from(
    { length: 256 },
    (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
  );
  const texts = byteLevelTokens(tokenCount * 2)
    .map((token) => (token === null ? "\ufffd" : decoder.decode(token)))
    .filter((text) => !text.includes("\ufffd"))
    .map((text) => text.replaceAll(" ", "\u2581"));
  const names = [...new Set([...controls, ...bytes, ...texts])].slice(0, tokenCount);
  const decoders = [
    { type: "Replace", pattern: { String: "\u2581" }, content: " " },
    { type: "ByteFallback" },
    { type: "Fuse" },
    { type: "Strip", content: " ", start: 1, stop: 0 },
  ];
  return tokensOf({
    model: { vocab: Object.fromEntries(names.map((name, id) => [name, id])) },
    decoder: { type: "Sequence", decoders },
    added_tokens: controls.map((_, id) => ({ id })),
  });
}

// Vocabularies for tests: synthetic ones, and those of the tokenizers in this repository.
import { readFileSync } from "node:fs";
import { createTokenDecoder } from "../../../tokenizer/tokenizer-json.ts";
import { buildTokenTrie } from "../trie/token-trie.ts";
import { syntheticVocabulary } from "../trie/synthetic-vocabulary.ts";
import type { TokenTrie } from "../trie/token-trie.ts";

export type Tokens = readonly (Uint8Array | null)[];

const encoder = new TextEncoder();

/** Returns a vocabulary of all single bytes and the given texts; the first text occurs twice. */
export function vocabularyOf(texts: readonly string[]): TokenTrie {
  const bytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
  return buildTokenTrie({
    bytes: [null, ...bytes, ...[...texts, ...texts.slice(0, 1)].map((text) => encoder.encode(text))],
  });
}

/** Returns the vocabulary of a `tokenizer.json` file. */
export function vocabularyOfFile(path: string): TokenTrie {
  return buildTokenTrie({ bytes: tokensOfFile(path) });
}

/**
 * Returns the bytes of each token in a `tokenizer.json` file, by id; null for added tokens, which are control tokens.
 */
export function tokensOfFile(path: string): Tokens {
  return tokensOf(JSON.parse(readFileSync(path, "utf8")) as TokenizerFile);
}

/** The parts of a `tokenizer.json` file that define the bytes of its tokens. */
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

/** Returns a byte-level vocabulary that extends the built-in model's vocabulary to this size. */
export const byteLevelTokens = (tokenCount: number): Tokens =>
  syntheticVocabulary(tokensOfFile(tinyFile), tokenCount);

/**
 * Returns a SentencePiece vocabulary: three control tokens, one token per byte, and texts of whole characters in which
 * ▁ stands for a space. Single-byte characters occur twice.
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

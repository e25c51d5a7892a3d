// Vocabularies for tests: made up ones, and those of the tokenizers that the project holds.
import { readFileSync } from "node:fs";
import { createTokenDecoder } from "../../tokenizer/token-bytes.ts";
import { buildTokenTrie } from "../trie/token-trie.ts";
import type { TokenTrie } from "../trie/token-trie.ts";

const encoder = new TextEncoder();

/** Every byte, the given texts, and twice the first of them. */
export function vocabularyOf(texts: readonly string[]): TokenTrie {
  const bytes = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
  return buildTokenTrie({
    bytes: [null, ...bytes, ...[...texts, ...texts.slice(0, 1)].map((text) => encoder.encode(text))],
  });
}

/** The vocabulary of a tokenizer.json. */
export function vocabularyOfFile(path: string): TokenTrie {
  return buildTokenTrie({ bytes: tokensOfFile(path) });
}

/** The tokens of a tokenizer.json by id; null for the added ones, which control. */
export function tokensOfFile(path: string): readonly (Uint8Array | null)[] {
  const file = JSON.parse(readFileSync(path, "utf8")) as {
    readonly model: { readonly vocab: Readonly<Record<string, number>> };
    readonly decoder: unknown;
    readonly added_tokens?: readonly { readonly id: number }[];
  };
  const decode = createTokenDecoder(file.decoder);
  const controls = new Set((file.added_tokens ?? []).map(({ id }) => id));
  const bytes: (Uint8Array | null)[] = [];
  for (const [token, id] of Object.entries(file.model.vocab))
    bytes[id] = controls.has(id) ? null : decode(token);
  for (const id of controls) bytes[id] = null;
  return Array.from(bytes, (token) => token ?? null);
}

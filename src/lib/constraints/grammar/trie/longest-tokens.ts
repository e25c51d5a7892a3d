// Splits a text into tokens greedily, each time taking the longest matching token. No tokenizer produces exactly this
// sequence, but a model can generate it.
import type { TokenTrie, TrieNodes } from "./token-trie.ts";

/** Returns the tokens of a text; null if no token matches at some position. */
export function longestTokens(trie: TokenTrie, text: Uint8Array): readonly number[] | null {
  const tokens: number[] = [];
  for (let at = 0; at < text.length;) {
    const [harmless, other] = [trie.harmless, trie.others].map((nodes) => longestToken(nodes, text, at));
    const longest = harmless.length > other.length ? harmless : other;
    if (longest.length === 0) return null;
    tokens.push(longest.token);
    at += longest.length;
  }
  return tokens;
}

function longestToken(
  nodes: TrieNodes,
  text: Uint8Array,
  start: number,
): { readonly token: number; readonly length: number } {
  const { tokens, tokensBefore } = nodes;
  let longest = { token: -1, length: 0 };
  let node = childOf(nodes, 0, text[start]);
  for (let length = 1; node !== null; length++) {
    if (tokensBefore[node + 1] > tokensBefore[node]) longest = { token: tokens[tokensBefore[node]], length };
    node = childOf(nodes, node, text[start + length]);
  }
  return longest;
}

function childOf({ byteOf, endOf }: TrieNodes, node: number, byte: number | undefined): number | null {
  for (let child = node + 1; child < endOf[node]; child = endOf[child])
    if (byteOf[child] === byte) return child;
  return null;
}

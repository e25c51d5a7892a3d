// Hone's own times in bench/grammar.ts: compiles a schema, and writes its valid values token by token.
import { readLanguage } from "../src/grammar/language.ts";
import { CompiledConstraint } from "../src/grammar/matcher.ts";
import { jsonSchema } from "../src/grammar/testing/constraints.ts";
import type { TokenTrie, TrieNodes } from "../src/grammar/trie/token-trie.ts";
import { defaultGrammarLimits } from "../src/regex/limits.ts";
import type { Subject } from "./grammar-subjects.ts";
import { processorMs } from "./grammar-times.ts";
import type { Times, TokenText } from "./grammar-times.ts";

/**
 * @returns the times, and the texts that were written: the valid values in the schema's order of properties
 * @throws ConstraintRefusal for a schema that is not served
 */
export function writeSubject(
  trie: TokenTrie,
  { schema, tests }: Subject,
): { readonly times: Times; readonly texts: readonly TokenText[] } {
  const started = processorMs();
  const constraint = new CompiledConstraint(readLanguage(jsonSchema(schema), defaultGrammarLimits), trie);
  const mask = new Uint32Array(constraint.maskWords);
  constraint.matcher().mask(mask);
  const firstMask = processorMs() - started;
  const { textOf } = constraint.language;
  const encoder = new TextEncoder();
  const texts = tests
    .filter(({ valid }) => valid)
    .map(({ data }) => longestTokens(trie, encoder.encode(textOf?.(data) ?? "")));
  const betweenMasks = texts.flatMap((text) => writeText(constraint, text, mask));
  return { times: { firstMask, betweenMasks }, texts };
}

function writeText(constraint: CompiledConstraint, text: TokenText, mask: Uint32Array): readonly number[] {
  const matcher = constraint.matcher();
  matcher.mask(mask);
  return text.map((token) => {
    if (((mask[token >>> 5] >>> (token & 31)) & 1) === 0) throw new Error(`token ${token} is not allowed`);
    const before = processorMs();
    if (!matcher.accept(token)) throw new Error(`token ${token} is not accepted`);
    matcher.mask(mask);
    return processorMs() - before;
  });
}

/** The longest token that fits, again and again. */
function longestTokens(trie: TokenTrie, text: Uint8Array): TokenText {
  const tokens: number[] = [];
  for (let at = 0; at < text.length;) {
    const [harmless, other] = [trie.harmless, trie.others].map((nodes) => longestToken(nodes, text, at));
    const longest = harmless.length > other.length ? harmless : other;
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

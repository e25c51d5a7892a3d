// Hone's own times in bench/grammar.ts: compiles a schema, and writes its valid values token by token.
import { readLanguage } from "../src/grammar/language.ts";
import { CompiledConstraint } from "../src/grammar/matcher.ts";
import { jsonSchema } from "../src/grammar/testing/constraints.ts";
import type { TokenTrie } from "../src/grammar/trie/token-trie.ts";
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
    let best = { token: -1, length: 0 };
    let node = 0;
    for (let length = 1; at + length <= text.length; length++) {
      const child = childOf(trie, node, text[at + length - 1]);
      if (child === null) break;
      node = child;
      const token = trie.nodes.tokenAt[node];
      if (token >= 0) best = { token, length };
    }
    tokens.push(best.token);
    at += best.length;
  }
  return tokens;
}

function childOf({ nodes: { byteOf, endOf } }: TokenTrie, node: number, byte: number): number | null {
  for (let child = node + 1; child < endOf[node]; child = endOf[child])
    if (byteOf[child] === byte) return child;
  return null;
}

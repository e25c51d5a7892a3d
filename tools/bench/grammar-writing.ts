// Measures Hone's times for tools/bench/grammar.ts: compiles a schema, and accepts its valid values token by token.
import { present } from "../../src/base/domain/assert.ts";
import { readLanguage } from "../../src/lib/constraints/grammar/language.ts";
import { CompiledConstraint } from "../../src/lib/constraints/grammar/matcher.ts";
import { jsonSchema } from "../../src/lib/constraints/grammar/testing/make-constraints.ts";
import { longestTokens } from "../../src/lib/constraints/grammar/trie/longest-tokens.ts";
import type { TokenTrie } from "../../src/lib/constraints/grammar/trie/token-trie.ts";
import { defaultGrammarLimits } from "../../src/lib/constraints/regex/limits.ts";
import type { Subject } from "./grammar-subjects.ts";
import { processorMs } from "./grammar-times.ts";
import type { Times, TokenText } from "./grammar-times.ts";

/**
 * @returns the times, and the accepted texts, which are the valid values with properties in the schema's order
 * @throws ConstraintRefusal if Hone refuses the schema
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
    .map(({ data }) =>
      present(longestTokens(trie, encoder.encode(textOf?.(data) ?? "")), "a token for a byte"),
    );
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

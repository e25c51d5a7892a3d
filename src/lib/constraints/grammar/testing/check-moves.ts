// Tests matchers that accept tokens, roll back and fork at random. Each must equal a fresh matcher that accepted the
// same tokens.
import assert from "node:assert/strict";
import type { Constraint } from "../../../../base/domain/constraint.ts";
import type { Random } from "../../../../base/domain/random.ts";
import { defaultGrammarLimits } from "../../regex/limits.ts";
import { readLanguage } from "../language.ts";
import { CompiledConstraint } from "../matcher.ts";
import type { Matcher } from "../matcher.ts";
import type { TokenTrie } from "../trie/token-trie.ts";
import { idsOf } from "./try-every-token.ts";

/** A matcher, and the tokens it has accepted and not rolled back. */
interface Traveller {
  readonly matcher: Matcher;
  readonly tokens: number[];
}

/**
 * Moves matchers of the constraint at random.
 *
 * @throws AssertionError if a matcher differs from a fresh matcher
 * @throws ConstraintRefusal if the constraint is refused
 */
export function checkMoves(
  constraint: Constraint,
  trie: TokenTrie,
  { random, moveCount }: { readonly random: Random; readonly moveCount: number },
): void {
  const [moved, straight] = [constraint, constraint].map(
    (one) => new CompiledConstraint(readLanguage(one, defaultGrammarLimits), trie),
  );
  const travellers: Traveller[] = [{ matcher: moved.matcher(), tokens: [] }];
  for (let move = 0; move < moveCount; move++) {
    const traveller = travellers[random.index(travellers.length)];
    const { matcher, tokens } = traveller;
    const kind = random.uniform();
    if (kind < 0.2) travellers.push({ matcher: matcher.fork(), tokens: [...tokens] });
    else if (kind < 0.4) {
      const count = random.index(tokens.length + 1);
      matcher.rollback(count);
      tokens.length -= count;
    } else goOn(traveller, trie, random);
    const fresh = straight.matcher();
    for (const token of tokens) assert.ok(fresh.accept(token));
    assert.deepEqual(factsOf(matcher, trie), factsOf(fresh, trie), JSON.stringify({ constraint, tokens }));
  }
}

function goOn({ matcher, tokens }: Traveller, trie: TokenTrie, random: Random): void {
  const allowed = idsOf(maskOf(matcher, trie));
  // The token may be one that the constraint refuses, like a draft's token; a refused token leaves the matcher
  // unchanged.
  const token =
    random.uniform() < 0.2 || allowed.length === 0
      ? random.index(trie.tokenCount)
      : allowed[random.index(allowed.length)];
  if (matcher.accept(token)) tokens.push(token);
  else assert.ok(!allowed.includes(token));
}

const factsOf = (matcher: Matcher, trie: TokenTrie) => ({
  mask: maskOf(matcher, trie),
  mayEnd: matcher.mayEnd,
  mustEnd: matcher.mustEnd,
});

function maskOf(matcher: Matcher, trie: TokenTrie): Uint32Array {
  const mask = new Uint32Array(Math.ceil(trie.tokenCount / 32));
  matcher.mask(mask);
  return mask;
}

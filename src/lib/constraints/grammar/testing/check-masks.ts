// The mask oracle: checks at random positions of random texts that a mask allows exactly the tokens that Earley's
// recognizer accepts.
import assert from "node:assert/strict";
import type { Constraint } from "../../../../base/domain/constraint.ts";
import type { Random } from "../../../../base/domain/random.ts";
import { defaultGrammarLimits } from "../../regex/limits.ts";
import { readLanguage } from "../language.ts";
import type { Language } from "../language.ts";
import { CompiledConstraint } from "../matcher.ts";
import type { TokenTrie } from "../trie/token-trie.ts";
import { idsOf, TokenTrial } from "./try-every-token.ts";
import { randomWalk } from "./walk.ts";

export interface Thoroughness {
  /** Number of random positions drawn per text. */
  readonly placeCount: number;
  /** Number of random tokens tried per position. If the vocabulary has no more tokens than this, all are tried. */
  readonly triedTokenCount: number;
}

const walkedTokensMax = 6;

/**
 * Generates a random text under the constraint with each vocabulary, and checks masks at random positions of it.
 *
 * @returns number of tokens tried
 * @throws AssertionError if a mask and the recognizer disagree about a token
 * @throws ConstraintRefusal if the constraint is refused
 */
export function checkMasks(
  constraint: Constraint,
  tries: readonly TokenTrie[],
  { random, ...thoroughness }: Thoroughness & { readonly random: Random },
): number {
  const language = readLanguage(constraint, defaultGrammarLimits);
  const naive = readLanguage(constraint, defaultGrammarLimits);
  return tries.reduce((tried, trie) => {
    const compiled = new CompiledConstraint(language, trie);
    const { tokens } = randomWalk(compiled, () => random.uniform(), walkedTokensMax);
    const walked = { compiled, naive, tokens, where: JSON.stringify(constraint) };
    return tried + checkAlong(walked, { random, ...thoroughness });
  }, 0);
}

interface Walked {
  readonly compiled: CompiledConstraint;
  readonly naive: Language;
  readonly tokens: readonly number[];
  /** Description of the constraint in failure messages. */
  readonly where: string;
}

function checkAlong(
  { compiled, naive, tokens, where }: Walked,
  { random, placeCount, triedTokenCount }: Thoroughness & { readonly random: Random },
): number {
  const { trie } = compiled;
  const places = new Set(Array.from({ length: placeCount }, () => random.index(tokens.length + 1)));
  const matcher = compiled.matcher();
  const mask = new Uint32Array(compiled.maskWords + 1);
  const text: number[] = [];
  let tried = 0;
  for (const [place, token] of [...tokens, null].entries()) {
    if (places.has(place)) {
      matcher.mask(mask.fill(0xffff_ffff));
      const sofar = Uint8Array.from(text);
      const trial = new TokenTrial(naive, sofar);
      const here = `${where} after ${JSON.stringify(new TextDecoder().decode(sofar))}`;
      assert.equal(matcher.mayEnd, trial.mayEnd, here);
      tried += checkMask(mask, { trie, trial, where: here, wanted: triedTokenCount, random });
    }
    if (token === null) break;
    assert.ok(matcher.accept(token));
    text.push(...(trie.bytesOf[token] ?? []));
  }
  return tried;
}

interface Trial {
  readonly trie: TokenTrie;
  readonly trial: TokenTrial;
  readonly where: string;
  readonly wanted: number;
  readonly random: Random;
}

function checkMask(mask: Uint32Array, { trie, trial, where, wanted, random }: Trial): number {
  const isAllowed = (id: number): boolean => ((mask[id >>> 5] >>> (id & 31)) & 1) === 1;
  const ids = triedTokens(idsOf(mask), { trie, wanted, random });
  for (const id of ids) {
    const bytes = trie.bytesOf[id] ?? null;
    if (isAllowed(id) === (bytes !== null && trial.allows(bytes))) continue;
    const token = JSON.stringify(new TextDecoder().decode(bytes ?? undefined));
    assert.fail(`token ${id} ${token} ${isAllowed(id) ? "is" : "is not"} allowed: ${where}`);
  }
  return ids.length;
}

/**
 * Returns all ids if there are at most `wanted`. Otherwise returns random ids, half of them from the allowed ones,
 * because a purely random choice might contain few.
 */
function triedTokens(
  allowed: readonly number[],
  { trie, wanted, random }: Pick<Trial, "trie" | "wanted" | "random">,
): readonly number[] {
  const idCount = Math.max(trie.tokenCount, (allowed.at(-1) ?? 0) + 1);
  if (idCount <= wanted) return Array.from({ length: idCount }, (_, id) => id);
  return Array.from({ length: wanted }, (_, index) =>
    index % 2 === 0 && allowed.length > 0 ? allowed[random.index(allowed.length)] : random.index(idCount),
  );
}

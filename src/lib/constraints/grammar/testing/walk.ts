// Generates random texts under a constraint's masks, like a model with uniform probabilities.
import type { CompiledConstraint } from "../matcher.ts";
import { idsOf } from "./try-every-token.ts";

export interface Walk {
  readonly tokens: readonly number[];
  readonly text: Uint8Array;
  /** True if the text ended before the maximum length. */
  readonly isFinished: boolean;
}

/**
 * Accepts random allowed tokens. Ends where the text may end, with a probability that increases with its length.
 *
 * @param draw returns a number in [0, 1)
 * @throws at a dead end, where no token is allowed although the text may not end
 */
export function randomWalk(constraint: CompiledConstraint, draw: () => number, tokensMax = 200): Walk {
  const matcher = constraint.matcher();
  const mask = new Uint32Array(constraint.maskWords);
  const tokens: number[] = [];
  for (;;) {
    if (matcher.mayEnd && (matcher.mustEnd || draw() < 0.1 + tokens.length / tokensMax))
      return walk(constraint, tokens, true);
    if (tokens.length >= tokensMax) return walk(constraint, tokens, false);
    matcher.mask(mask);
    const allowed = idsOf(mask);
    if (allowed.length === 0) throw new Error(`dead end after ${JSON.stringify(textOf(constraint, tokens))}`);
    const token = chosen(constraint, allowed, draw);
    if (!matcher.accept(token)) throw new Error(`the mask allows token ${token}, the matcher does not`);
    tokens.push(token);
  }
}

/** Returns a random allowed token. Prefers tokens that close a string, array or object, so that texts end. */
function chosen({ trie }: CompiledConstraint, allowed: readonly number[], draw: () => number): number {
  const closes = (id: number): boolean => {
    const last = trie.bytesOf[id]?.at(-1) ?? 0;
    return last === 0x22 || last === 0x5d || last === 0x7d;
  };
  const closing = draw() < 0.4 ? allowed.filter(closes) : [];
  const from = closing.length > 0 ? closing : allowed;
  return from[Math.floor(draw() * from.length)];
}

function walk(constraint: CompiledConstraint, tokens: readonly number[], isFinished: boolean): Walk {
  return { tokens, text: bytesOf(constraint, tokens), isFinished };
}

function bytesOf({ trie }: CompiledConstraint, tokens: readonly number[]): Uint8Array {
  return Uint8Array.from(tokens.flatMap((token) => Array.from(trie.bytesOf[token] ?? [])));
}

const textOf = (constraint: CompiledConstraint, tokens: readonly number[]): string =>
  new TextDecoder().decode(bytesOf(constraint, tokens));

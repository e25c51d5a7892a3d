// Compares the masks at each position of a text with naively computed masks.
import assert from "node:assert/strict";
import type { Language } from "../language.ts";
import type { CompiledConstraint } from "../matcher.ts";
import { allowedByTrying, idsOf } from "./try-every-token.ts";

/**
 * Accepts the tokens in turn. At each position, asserts that the mask allows exactly those tokens that are accepted
 * when each token is tried.
 *
 * @param fresh compiles the same constraint anew for the naive computation; called before each token
 */
export function checkMasksAlong(
  constraint: CompiledConstraint,
  tokens: readonly number[],
  { fresh, name }: { readonly fresh: () => Language; readonly name: string },
): void {
  const { trie } = constraint;
  const matcher = constraint.matcher();
  const mask = new Uint32Array(constraint.maskWords);
  const taken: number[] = [];
  for (const token of tokens) {
    matcher.mask(mask);
    assert.deepEqual(idsOf(mask), allowedByTrying(fresh(), trie, Uint8Array.from(taken)), name);
    taken.push(...(trie.bytesOf[token] ?? []));
    assert.ok(matcher.accept(token), name);
  }
}

// Token-trie walks from the lexer states of the constraint base. Each walk is computed once per vocabulary, and its
// cost counts towards no constraint's budget.
import { constraintBase } from "../constraint-base.ts";
import { StepBudget, unlimitedGrammar } from "../../regex/limits.ts";
import type { LexerState } from "../../regex/automaton.ts";
import { LexemeWalker } from "./lexeme-walk.ts";
import type { LexemeWalk } from "./lexeme-walk.ts";
import type { TokenTrie } from "./token-trie.ts";

export class BaseWalks {
  readonly #walker: LexemeWalker;
  readonly #walks: (LexemeWalk | undefined)[] = [];

  constructor(trie: TokenTrie) {
    this.#walker = new LexemeWalker(constraintBase(), trie, new StepBudget(unlimitedGrammar));
  }

  of = (state: LexerState): LexemeWalk => (this.#walks[state] ??= this.#walker.walk(state, this.of));
}

const known = new WeakMap<TokenTrie, BaseWalks>();

export function baseWalks(trie: TokenTrie): BaseWalks {
  const walks = known.get(trie) ?? new BaseWalks(trie);
  known.set(trie, walks);
  return walks;
}

// Walks of the ground's lexer states, computed once per vocabulary at no constraint's cost.
import { ground } from "../ground.ts";
import { StepBudget, unlimitedGrammar } from "../../regex/limits.ts";
import type { LexerState } from "../../regex/automaton.ts";
import { LexemeWalker } from "./lexeme-walk.ts";
import type { LexemeWalk } from "./lexeme-walk.ts";
import type { TokenTrie } from "./token-trie.ts";

export class GroundWalks {
  readonly #walker: LexemeWalker;
  readonly #walks: (LexemeWalk | undefined)[] = [];

  constructor(trie: TokenTrie) {
    this.#walker = new LexemeWalker(ground(), trie, new StepBudget(unlimitedGrammar));
  }

  of = (state: LexerState): LexemeWalk => (this.#walks[state] ??= this.#walker.walk(state, this.of));
}

const known = new WeakMap<TokenTrie, GroundWalks>();

export function groundWalks(trie: TokenTrie): GroundWalks {
  const walks = known.get(trie) ?? new GroundWalks(trie);
  known.set(trie, walks);
  return walks;
}

// The mask of a parser state: the tokens that stay within a lexeme under way, and those that leave it and go on in what
// the grammar lets follow. Masks of states seen before are copied, within a limit of bytes.
import type { GrammarLimits, StepBudget } from "../../regex/limits.ts";
import type { LexerState } from "../../regex/automaton.ts";
import { deadParser } from "../parser/machine.ts";
import type { Machine, ParserState } from "../parser/machine.ts";
import { ByteCache } from "./byte-cache.ts";
import { HarmlessSteps } from "./harmless-text.ts";
import { LexemeWalker } from "./lexeme-walk.ts";
import type { LexemeWalk } from "./lexeme-walk.ts";
import type { TokenTrie, TrieNodes } from "./token-trie.ts";

export class MaskSource {
  readonly #machine: Machine;
  readonly #trie: TokenTrie;
  readonly #budget: StepBudget;
  readonly #walker: LexemeWalker;
  readonly #walks: ByteCache<LexerState, LexemeWalk>;
  /** By what the masks depend on: the lexemes, as far as tokens can tell them apart, and what follows each. */
  readonly #masks: ByteCache<string, Uint32Array>;
  readonly #path: Int32Array;

  constructor(
    { machine, trie }: { readonly machine: Machine; readonly trie: TokenTrie },
    limits: GrammarLimits,
    budget: StepBudget,
  ) {
    this.#machine = machine;
    this.#trie = trie;
    this.#budget = budget;
    const { automaton } = machine;
    this.#walker = new LexemeWalker({ automaton, steps: new HarmlessSteps(automaton) }, trie, budget);
    this.#walks = new ByteCache(limits.cachedMaskBytes / 2);
    this.#masks = new ByteCache(limits.cachedMaskBytes / 2);
    this.#path = new Int32Array(trie.depthMax + 1);
  }

  /** What the masks take that are kept. */
  get byteLength(): number {
    return this.#walks.byteLength + this.#masks.byteLength;
  }

  /** Writes the mask of the state: a bit for each token, the lowest of the first word for token 0. */
  write(state: ParserState, into: Uint32Array): void {
    const { lexers, follows } = this.#machine.threads(state);
    const saturated = lexers.map((lexer) => this.#saturated(lexer));
    const key = `${saturated.join(",")};${follows.join(",")}`;
    const known = this.#masks.get(key);
    if (known !== undefined) {
      into.set(known);
      into.fill(0, known.length);
      return;
    }
    into.fill(0);
    for (const [index, lexer] of saturated.entries()) {
      const walk = this.#walk(lexer);
      addTokens(walk, into);
      if (walk.exits.length === 0) continue;
      const after = this.#machine.open(follows[index]);
      if (this.#machine.threads(after).lexers.length === 0) continue;
      for (const { nodes, tops } of walk.exits)
        for (const top of tops) this.#walkBelow({ nodes, top }, after, into);
    }
    const mask = into.slice(0, Math.ceil(this.#trie.tokenCount / 32));
    this.#masks.set(key, mask, mask.byteLength);
  }

  /** A state in which the same tokens are allowed: of a long bounded string most states are one. */
  #saturated(lexer: LexerState): LexerState {
    const { automaton } = this.#machine;
    const { expressions } = automaton;
    return automaton.start(expressions.saturated(automaton.expressionOf(lexer), this.#trie.depthMax));
  }

  #walk(lexer: LexerState): LexemeWalk {
    const known = this.#walks.get(lexer);
    if (known !== undefined) return known;
    const walk = this.#walker.walk(lexer);
    this.#walks.set(lexer, walk, walk.byteLength);
    return walk;
  }

  /** Adds the tokens below a node that go on from a parser state there. */
  #walkBelow(
    { nodes, top }: { readonly nodes: TrieNodes; readonly top: number },
    start: ParserState,
    into: Uint32Array,
  ): void {
    const machine = this.#machine;
    const { byteOf, depthOf, endOf, tokens, tokensBefore } = nodes;
    const path = this.#path;
    path[depthOf[top]] = start;
    let visited = 0;
    for (let node = top + 1; node < endOf[top];) {
      visited += 1;
      const depth = depthOf[node];
      const after = machine.next(path[depth - 1], byteOf[node]);
      if (after === deadParser) {
        node = endOf[node];
        continue;
      }
      path[depth] = after;
      for (let at = tokensBefore[node]; at < tokensBefore[node + 1]; at++)
        into[tokens[at] >>> 5] |= 1 << (tokens[at] & 31);
      node += 1;
    }
    this.#budget.spend(visited >>> 7);
  }
}

function addTokens({ tokens }: LexemeWalk, into: Uint32Array): void {
  if ("bits" in tokens) {
    const { bits } = tokens;
    for (let word = 0; word < bits.length; word++) into[word] |= bits[word];
  } else for (const id of tokens.ids) into[id >>> 5] |= 1 << (id & 31);
}

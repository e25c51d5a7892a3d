// Which tokens stay within a lexeme, and where in the trie the lexeme may end: what a mask needs of a lexer state,
// whatever the grammar around it is. Most of a mask inside a string is this, so it is kept and only copied.
import type { StepBudget } from "../../regex/limits.ts";
import { deadState } from "../../regex/automaton.ts";
import type { Automaton, LexerState } from "../../regex/automaton.ts";
import { isLead, isWithinCharacter } from "./harmless-text.ts";
import type { HarmlessSteps } from "./harmless-text.ts";
import type { HarmlessTokens, TokenTrie, TrieNodes } from "./token-trie.ts";

export interface LexemeWalk {
  /** The tokens that the lexeme may go on with, or end with: a bit each, or their ids where they are few. */
  readonly tokens: { readonly bits: Uint32Array } | { readonly ids: Int32Array };
  readonly exits: readonly Exits[];
  readonly byteLength: number;
}

/** Nodes at which the lexeme may end and below which there are tokens that it may not go on with. */
export interface Exits {
  readonly nodes: TrieNodes;
  readonly tops: Int32Array;
}

export class LexemeWalker {
  readonly #automaton: Automaton;
  readonly #steps: HarmlessSteps;
  readonly #trie: TokenTrie;
  readonly #budget: StepBudget;
  /** The lexer state at each depth of the way to the present node. */
  readonly #path: Int32Array;

  constructor(
    { automaton, steps }: { readonly automaton: Automaton; readonly steps: HarmlessSteps },
    trie: TokenTrie,
    budget: StepBudget,
  ) {
    this.#automaton = automaton;
    this.#steps = steps;
    this.#trie = trie;
    this.#budget = budget;
    this.#path = new Int32Array(trie.depthMax + 1);
  }

  walk(state: LexerState): LexemeWalk {
    const { harmless, others } = this.#trie;
    const among = { harmless: new Runs(), others: new Runs() };
    const exits = [
      { nodes: harmless, tops: this.#walkHarmless(harmless, state, among.harmless) },
      { nodes: others, tops: this.#walkOthers(others, state, among.others) },
    ].filter(({ tops }) => tops.length > 0);
    const tokens = this.#allowed(among);
    const { byteLength } = "ids" in tokens ? tokens.ids : tokens.bits;
    return {
      tokens,
      exits,
      byteLength: exits.reduce((bytes, { tops }) => bytes + tops.byteLength, byteLength),
    };
  }

  /** Walks tokens of harmless text; below a node from which all of it leads on, nothing need be looked at. */
  #walkHarmless(nodes: HarmlessTokens, state: LexerState, allowed: Runs): Int32Array {
    const steps = this.#steps;
    const { byteOf, depthOf, endOf, tokensBefore, heightOf, nodeCount } = nodes;
    const path = this.#path;
    const exits: number[] = [];
    let { table, isAccepting } = this.#automaton;
    let visited = 0;
    path[0] = state;
    for (let node = 1; node < nodeCount;) {
      visited += 1;
      const byte = byteOf[node];
      const depth = depthOf[node];
      const before = path[depth - 1];
      const end = endOf[node];
      if (isLead(byte) && steps.reach(steps.afterSeveralBytes(before)) >= heightOf[node]) {
        allowed.add(tokensBefore[node], tokensBefore[end]);
        node = end;
        continue;
      }
      let after = table[before * 256 + byte];
      if (after < 0) after = this.#automaton.next(before, byte);
      if (after === deadState) {
        node = end;
        continue;
      }
      // A node within a character has children within it, and nothing else.
      if (!isWithinCharacter(byteOf[node + 1]) && steps.reach(after) >= heightOf[node]) {
        allowed.add(tokensBefore[node], tokensBefore[end]);
        node = end;
        continue;
      }
      // Whatever was asked for new states may have moved them.
      ({ table, isAccepting } = this.#automaton);
      path[depth] = after;
      allowed.add(tokensBefore[node], tokensBefore[node + 1]);
      if (isAccepting[after] === 1) exits.push(node);
      node += 1;
    }
    this.#budget.spend(visited >>> 7);
    return Int32Array.from(exits);
  }

  #walkOthers(nodes: TrieNodes, state: LexerState, allowed: Runs): Int32Array {
    const { byteOf, depthOf, endOf, tokensBefore, nodeCount } = nodes;
    const path = this.#path;
    const exits: number[] = [];
    let { table, isAccepting } = this.#automaton;
    let visited = 0;
    path[0] = state;
    for (let node = 1; node < nodeCount;) {
      visited += 1;
      const depth = depthOf[node];
      const before = path[depth - 1];
      let after = table[before * 256 + byteOf[node]];
      if (after < 0) {
        after = this.#automaton.next(before, byteOf[node]);
        ({ table, isAccepting } = this.#automaton);
      }
      if (after === deadState) {
        node = endOf[node];
        continue;
      }
      path[depth] = after;
      allowed.add(tokensBefore[node], tokensBefore[node + 1]);
      if (isAccepting[after] === 1 && endOf[node] > node + 1) exits.push(node);
      node += 1;
    }
    this.#budget.spend(visited >>> 7);
    return Int32Array.from(exits);
  }

  #allowed(among: { readonly harmless: Runs; readonly others: Runs }): LexemeWalk["tokens"] {
    const { harmless, others } = this.#trie;
    const wordCount = harmless.bits.length;
    const count = among.harmless.count + among.others.count;
    if (count < wordCount) {
      const ids = new Int32Array(count);
      let next = 0;
      const append = (id: number): void => void (ids[next++] = id);
      among.harmless.forEach(harmless.tokens, append);
      among.others.forEach(others.tokens, append);
      return { ids };
    }
    // What is fewer is touched: the tokens allowed, or those that are not.
    const startsFull = among.harmless.count * 2 > harmless.tokens.length;
    const bits = startsFull ? harmless.bits.slice() : new Uint32Array(wordCount);
    if (startsFull)
      among.harmless.forEachOther(harmless.tokens, (id) => void (bits[id >>> 5] &= ~(1 << (id & 31))));
    else among.harmless.forEach(harmless.tokens, (id) => void (bits[id >>> 5] |= 1 << (id & 31)));
    among.others.forEach(others.tokens, (id) => void (bits[id >>> 5] |= 1 << (id & 31)));
    return { bits };
  }
}

/** Ascending runs of positions in a list of tokens. */
class Runs {
  /** Where each run begins, and where it ends. */
  readonly #bounds: number[] = [];
  count = 0;

  /** Adds the positions from one to before the other, which all come after those added so far. */
  add(from: number, to: number): void {
    if (from === to) return;
    this.count += to - from;
    const bounds = this.#bounds;
    if (bounds[bounds.length - 1] === from) bounds[bounds.length - 1] = to;
    else bounds.push(from, to);
  }

  forEach(tokens: Int32Array, take: (token: number) => void): void {
    for (let run = 0; run < this.#bounds.length; run += 2)
      for (let at = this.#bounds[run]; at < this.#bounds[run + 1]; at++) take(tokens[at]);
  }

  /** The tokens at all other positions. */
  forEachOther(tokens: Int32Array, take: (token: number) => void): void {
    let at = 0;
    for (let run = 0; run <= this.#bounds.length; run += 2) {
      for (const end = this.#bounds[run] ?? tokens.length; at < end; at++) take(tokens[at]);
      at = this.#bounds[run + 1];
    }
  }
}

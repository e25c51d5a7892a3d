// Which tokens stay within a lexeme, and where in the trie the lexeme may end: what a mask needs of a lexer state,
// whatever the grammar around it is. Most of a mask inside a string is this, so it is kept and only copied.
import type { StepBudget } from "../../regex/limits.ts";
import { deadState } from "../../regex/automaton.ts";
import type { Automaton, LexerState } from "../../regex/automaton.ts";
import { harmlessLengthMax, isLead, isWithinCharacter } from "./harmless-text.ts";
import type { HarmlessSteps } from "./harmless-text.ts";
import { TokenRuns } from "./token-runs.ts";
import type { TokenTrie, TrieNodes } from "./token-trie.ts";

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
    const runs = { harmless: new TokenRuns(harmless.tokens), others: new TokenRuns(others.tokens) };
    const exits = [
      { nodes: harmless, tops: this.#walkNodes(harmless, state, runs.harmless) },
      { nodes: others, tops: this.#walkNodes(others, state, runs.others) },
    ].filter(({ tops }) => tops.length > 0);
    const tokens = this.#allowed(runs);
    const { byteLength } = "ids" in tokens ? tokens.ids : tokens.bits;
    return {
      tokens,
      exits,
      byteLength: exits.reduce((bytes, { tops }) => bytes + tops.byteLength, byteLength),
    };
  }

  /** Adds the tokens that the lexeme takes from the state; the nodes at which it may end. */
  #walkNodes(nodes: TrieNodes, state: LexerState, allowed: TokenRuns): Int32Array {
    const { byteOf, depthOf, endOf, tokensBefore, heightOf, oddFrom, nodeCount } = nodes;
    const automaton = this.#automaton;
    const path = this.#path;
    const exits: number[] = [];
    let visited = 0;
    path[0] = state;
    for (let node = 1; node < nodeCount;) {
      visited += 1;
      const end = endOf[node];
      const byte = byteOf[node];
      const before = path[depthOf[node] - 1];
      if (oddFrom[node] > node && this.#steps.isFree(before)) {
        // All harmless text leads back to where it began: to the next byte that is none.
        const next = Math.min(oddFrom[node], end);
        allowed.add(tokensBefore[node], tokensBefore[next]);
        if (next < end) path.fill(before, depthOf[node], depthOf[next]);
        node = next;
        continue;
      }
      // The table is another one once it has grown.
      let after = automaton.table[before * 256 + byte];
      if (after < 0) after = automaton.next(before, byte);
      if (after === deadState) {
        node = end;
        continue;
      }
      if (heightOf[node] <= harmlessLengthMax && this.#takesAllBelow(nodes, node, { before, after })) {
        allowed.add(tokensBefore[node], tokensBefore[end]);
        node = end;
        continue;
      }
      path[depthOf[node]] = after;
      allowed.add(tokensBefore[node], tokensBefore[node + 1]);
      if (automaton.isAccepting[after] === 1 && end > node + 1) exits.push(node);
      node += 1;
    }
    this.#budget.spend(visited >>> 7);
    return Int32Array.from(exits);
  }

  /** Whether the lexeme surely goes on with every token below a node, all of harmless text. */
  #takesAllBelow(
    { byteOf, heightOf }: TrieNodes,
    node: number,
    { before, after }: { readonly before: LexerState; readonly after: LexerState },
  ): boolean {
    const steps = this.#steps;
    if (isLead(byteOf[node])) return steps.reach(steps.afterSeveralBytes(before)) >= heightOf[node];
    // A node within a character has children within it, and nothing else.
    return !isWithinCharacter(byteOf[node + 1]) && steps.reach(after) >= heightOf[node];
  }

  #allowed({
    harmless,
    others,
  }: {
    readonly harmless: TokenRuns;
    readonly others: TokenRuns;
  }): LexemeWalk["tokens"] {
    const { harmlessBits } = this.#trie;
    const count = harmless.count + others.count;
    if (count < harmlessBits.length) {
      const ids = new Int32Array(count);
      harmless.copyTo(ids, 0);
      others.copyTo(ids, harmless.count);
      return { ids };
    }
    // What is fewer is touched: the tokens allowed, or those that are not.
    const startsFull = harmless.count * 2 > this.#trie.harmless.tokens.length;
    const bits = startsFull ? harmlessBits.slice() : new Uint32Array(harmlessBits.length);
    if (startsFull) harmless.clearOthers(bits);
    else harmless.setIn(bits);
    others.setIn(bits);
    return { bits };
  }
}

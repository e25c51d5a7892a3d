// Which tokens stay within a lexeme, and where in the trie the lexeme may end: what a mask needs of a lexer state,
// whatever the grammar around it is. Most of a mask inside a string is this, so it is kept and only copied.
import type { StepBudget } from "../../regex/limits.ts";
import { deadState } from "../../regex/automaton.ts";
import type { Automaton, LexerState } from "../../regex/automaton.ts";
import { harmlessBytes } from "./token-trie.ts";
import type { TokenTrie, TrieNodes } from "./token-trie.ts";

export interface LexemeWalk {
  /** The tokens that the lexeme may go on with, or end with: a bit each, or their ids where they are few. */
  readonly tokens: { readonly bits: Uint32Array } | { readonly ids: Int32Array };
  /** Nodes at which the lexeme may end and below which there are tokens, of these nodes. */
  readonly exits: Int32Array;
  readonly nodes: TrieNodes;
  readonly byteLength: number;
}

export function walkLexeme(
  { automaton, trie }: { readonly automaton: Automaton; readonly trie: TokenTrie },
  state: LexerState,
  budget: StepBudget,
): LexemeWalk {
  // Where harmless bytes change nothing, tokens of them alone are allowed whatever follows the lexeme.
  const skipsHarmless = harmlessBytes.every((byte) => automaton.next(state, byte) === state);
  const nodes = skipsHarmless ? trie.others : trie.nodes;
  const { byteOf, depthOf, endOf, tokenAt, nextTwin, nodeCount } = nodes;
  const states = new Int32Array(trie.depthMax + 1);
  const bits = skipsHarmless ? trie.harmless.slice() : new Uint32Array(trie.harmless.length);
  const exits: number[] = [];
  let { table, isAccepting } = automaton;
  let count = skipsHarmless ? bits.length : 0;
  let visited = 0;
  states[0] = state;
  for (let node = 1; node < nodeCount;) {
    visited += 1;
    const depth = depthOf[node];
    const before = states[depth - 1];
    let after = table[before * 256 + byteOf[node]];
    if (after < 0) {
      after = automaton.next(before, byteOf[node]);
      ({ table, isAccepting } = automaton);
    }
    if (after === deadState) {
      node = endOf[node];
      continue;
    }
    states[depth] = after;
    for (let id = tokenAt[node]; id >= 0; id = nextTwin[id]) {
      bits[id >>> 5] |= 1 << (id & 31);
      count += 1;
    }
    if (isAccepting[after] === 1 && endOf[node] > node + 1) exits.push(node);
    node += 1;
  }
  budget.spend(visited >>> 7);
  const tokens = count < bits.length ? { ids: idsOf(bits, count) } : { bits };
  const byteLength = 4 * (Math.min(count, bits.length) + exits.length);
  return { tokens, exits: Int32Array.from(exits), nodes, byteLength };
}

function idsOf(bits: Uint32Array, count: number): Int32Array {
  const ids = new Int32Array(count);
  let next = 0;
  for (let word = 0; next < count; word++) {
    for (let left = bits[word]; left !== 0; left &= left - 1) {
      ids[next] = word * 32 + (31 - Math.clz32(left & -left));
      next += 1;
    }
  }
  return ids;
}

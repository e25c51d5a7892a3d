// Which tokens stay within a lexeme, and where in the trie the lexeme may end: what a mask needs of a lexer state,
// whatever the grammar around it is. Most of a mask inside a string is this, so it is kept and only copied.
import type { StepBudget } from "../limits.ts";
import { deadState } from "../regex/automaton.ts";
import type { Automaton, LexerState } from "../regex/automaton.ts";
import type { TokenTrie } from "./token-trie.ts";

export interface LexemeWalk {
  /** The tokens that the lexeme may go on with, or end with: a bit each, or their ids where they are few. */
  readonly tokens: { readonly bits: Uint32Array } | { readonly ids: Int32Array };
  /** Nodes at which the lexeme may end and below which there are tokens. */
  readonly exits: Int32Array;
  readonly byteLength: number;
}

export function walkLexeme(
  { automaton, trie }: { readonly automaton: Automaton; readonly trie: TokenTrie },
  state: LexerState,
  budget: StepBudget,
): LexemeWalk {
  const { byteOf, depthOf, endOf, tokenAt, nodeCount } = trie;
  const states = new Int32Array(trie.depthMax + 1);
  const ids: number[] = [];
  const exits: number[] = [];
  let { table, isAccepting } = automaton;
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
    if (tokenAt[node] >= 0) ids.push(tokenAt[node]);
    if (isAccepting[after] === 1 && endOf[node] > node + 1) exits.push(node);
    node += 1;
  }
  budget.spend(visited >>> 7);
  return packed(trie, ids, exits);
}

function packed(
  { tokenCount, nextTwin }: TokenTrie,
  ids: readonly number[],
  exits: readonly number[],
): LexemeWalk {
  const words = Math.ceil(tokenCount / 32);
  const exitNodes = Int32Array.from(exits);
  const all: number[] = [];
  for (const first of ids) for (let id = first; id >= 0; id = nextTwin[id]) all.push(id);
  if (all.length < words) {
    return {
      tokens: { ids: Int32Array.from(all) },
      exits: exitNodes,
      byteLength: 4 * (all.length + exits.length),
    };
  }
  const bits = new Uint32Array(words);
  for (const id of all) bits[id >>> 5] |= 1 << (id & 31);
  return { tokens: { bits }, exits: exitNodes, byteLength: 4 * (words + exits.length) };
}

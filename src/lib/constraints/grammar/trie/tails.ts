// The parts of tokens after the end of a lexeme, as one tree. Some thousand tokens leave a string behind its quotation
// mark, with only a few hundred different tails. A parser follows each tail once, whichever text precedes it.
import { trieNodesOf } from "./token-trie.ts";
import type { TokenTrie, TrieNodes } from "./token-trie.ts";

/** Nodes at which the lexeme may end, with tokens below that leave it. */
export interface Exits {
  readonly nodes: TrieNodes;
  readonly tops: Int32Array;
}

export interface Tails {
  /** Tails after the lexeme, each with the tokens that end with it. */
  readonly nodes: TrieNodes;
  /** True if the token has a tail here. */
  has(token: number): boolean;
  readonly byteLength: number;
}

/** A lexeme that may end at many positions of a token has nested exits; more tails than this are not listed. */
const tailsMax = 32_768;

/** Returns null if there are too many. */
export function tailsBelow(exits: readonly Exits[], { bytesOf, tokenCount }: TokenTrie): Tails | null {
  const tails: { readonly token: Uint8Array; readonly id: number }[] = [];
  const isMember = new Uint8Array(tokenCount);
  for (const { nodes, tops } of exits) {
    const { depthOf, endOf, tokens, tokensBefore } = nodes;
    for (const top of tops) {
      const end = tokensBefore[endOf[top]];
      if (tails.length + end - tokensBefore[top + 1] > tailsMax) return null;
      for (let at = tokensBefore[top + 1]; at < end; at++) {
        const id = tokens[at];
        isMember[id] = 1;
        tails.push({ token: (bytesOf[id] ?? noBytes).subarray(depthOf[top]), id });
      }
    }
  }
  const nodes = trieNodesOf(tails);
  return {
    nodes,
    has: (token) => isMember[token] === 1,
    byteLength: tokenCount + tails.length * 4 + nodes.nodeCount * bytesPerNode,
  };
}

const noBytes = new Uint8Array();

/** Size of the arrays per node. */
const bytesPerNode = 16;

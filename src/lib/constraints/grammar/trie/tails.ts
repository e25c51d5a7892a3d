// Tails: the parts of tokens after the end of a lexeme, merged into one tree. Some thousand tokens contain a string's
// closing quotation mark and continue after it, but with only a few hundred different tails. The parser follows each
// tail once, independent of the text before it.
import { trieNodesOf } from "./token-trie.ts";
import type { TokenTrie, TrieNodes } from "./token-trie.ts";

/** Nodes at which the lexeme may end. Below each, there are tokens that continue after the lexeme. */
export interface Exits {
  readonly nodes: TrieNodes;
  readonly tops: Int32Array;
}

export interface Tails {
  /** Trie of the tails, in which each tail has the tokens that end with it. */
  readonly nodes: TrieNodes;
  /** True if the trie contains a tail of the token. */
  has(token: number): boolean;
  readonly byteLength: number;
}

/**
 * Maximum number of tails. A lexeme that may end at many positions of a token can exceed it, because each position
 * adds a tail.
 */
const tailsMax = 32_768;

/**
 * Returns the tails of all tokens below the exits (nodes at which the lexeme may end); null if there are more than
 * `tailsMax`.
 */
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

/** Memory of a node in the arrays of a trie. */
const bytesPerNode = 16;

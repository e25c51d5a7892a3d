// What tokens have behind the end of a lexeme, as one tree: some thousand tokens leave a string behind its quotation mark, and
// go on in a few hundred ways. A parser follows each way once, whatever text of the string stands before it.
import { trieNodesOf } from "./token-trie.ts";
import type { TokenTrie, TrieNodes } from "./token-trie.ts";

/** Nodes at which the lexeme may end and below which there are tokens that it may not go on with. */
export interface Exits {
  readonly nodes: TrieNodes;
  readonly tops: Int32Array;
}

export interface Tails {
  /** What is behind the lexeme, and for each the tokens that end with it. */
  readonly nodes: TrieNodes;
  /** Whether a token is one of them. */
  has(token: number): boolean;
  readonly byteLength: number;
}

/** Exits lie below one another where a lexeme may end at many places of a token; more tails than so many are not listed. */
const tailsMax = 32_768;

/** Null where there are too many. */
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

/** The arrays of the nodes of a tree. */
const bytesPerNode = 16;

// A trie of the vocabulary's tokens in flat arrays. Its nodes are in depth-first order, each with the end of its
// subtree, so a walk is one pass over the arrays that skips mismatching subtrees. Built once per tokenizer.
import { isHarmless, isHarmlessByte, isWithinCharacter } from "./harmless-text.ts";

/**
 * Bytes of the tokens that a mask may allow. Control tokens (such as end and role tokens) have no bytes here, so no
 * mask contains them.
 */
export interface TokenBytes {
  /** Bytes by token id; null for control tokens and unused ids. */
  readonly bytes: readonly (Uint8Array | null)[];
}

/** The nodes of a trie. Node 0 is the root. */
export interface TrieNodes {
  readonly nodeCount: number;
  /** Byte on the edge to each node. */
  readonly byteOf: Uint8Array;
  /** Depth of each node, in bytes. */
  readonly depthOf: Uint16Array;
  /** First node after each node's subtree. */
  readonly endOf: Int32Array;
  /** Tokens in the order of their end nodes; tokens with equal bytes share a node. */
  readonly tokens: Int32Array;
  /**
   * For each node, the number of tokens that precede the node's own tokens in `tokens`; the last element is the total.
   * Two elements delimit the tokens of a node or of a subtree.
   */
  readonly tokensBefore: Int32Array;
  /**
   * Maximum number of characters that begin below each node; `noHeight` in all tries except that of the harmless
   * tokens.
   */
  readonly heightOf: Uint8Array;
  /** For each node, the first node at or after it whose byte is not harmless; the last element is `nodeCount`. */
  readonly oddFrom: Int32Array;
}

export interface TokenTrie {
  readonly tokenCount: number;
  /** Bytes by token id; null for tokens that no mask allows. */
  readonly bytesOf: readonly (Uint8Array | null)[];
  /** Length of the longest token in bytes. */
  readonly depthMax: number;
  /** Trie of the tokens that are harmless text. */
  readonly harmless: TrieNodes;
  /** Bit mask of the harmless tokens. */
  readonly harmlessBits: Uint32Array;
  /** Trie of all other tokens. */
  readonly others: TrieNodes;
}

const noHeight = 255;

/** Maximum length of a token in bytes; no mask allows a longer one. */
const tokenBytesMax = 1_024;

export function buildTokenTrie({ bytes }: TokenBytes): TokenTrie {
  const bytesOf = bytes.map((token) =>
    token === null || token.length === 0 || token.length > tokenBytesMax ? null : token,
  );
  const sorted = sortedBytes(bytesOf.flatMap((token, id) => (token === null ? [] : [{ token, id }])));
  const [harmless, others]: Sorted[] = [[], []];
  for (const entry of sorted) (isHarmless(entry.token) ? harmless : others).push(entry);
  return {
    tokenCount: bytes.length,
    bytesOf,
    depthMax: sorted.reduce((most, { token }) => Math.max(most, token.length), 0),
    harmless: withHeights(laidFlat(harmless)),
    harmlessBits: bitsOf(harmless, bytes.length),
    others: laidFlat(others),
  };
}

type Sorted = { readonly token: Uint8Array; readonly id: number }[];

/** Builds a trie of arbitrary texts, each with a number in place of a token id. */
export function trieNodesOf(entries: Readonly<Sorted>): TrieNodes {
  return laidFlat(sortedBytes(entries));
}

function sortedBytes(entries: Readonly<Sorted>): Readonly<Sorted> {
  return [...entries].sort((one, other) => compareBytes(one.token, other.token) || one.id - other.id);
}

function bitsOf(entries: Readonly<Sorted>, tokenCount: number): Uint32Array {
  const bits = new Uint32Array(Math.ceil(tokenCount / 32));
  for (const { id } of entries) bits[id >>> 5] |= 1 << (id & 31);
  return bits;
}

function withHeights(nodes: TrieNodes): TrieNodes {
  const { nodeCount, byteOf, endOf } = nodes;
  const heightOf = new Uint8Array(nodeCount);
  for (let node = nodeCount - 1; node >= 0; node--) {
    for (let child = node + 1; child < endOf[node]; child = endOf[child]) {
      const height = heightOf[child] + (isWithinCharacter(byteOf[child]) ? 0 : 1);
      heightOf[node] = Math.max(heightOf[node], height);
    }
  }
  return { ...nodes, heightOf };
}

function laidFlat(sorted: Readonly<Sorted>): TrieNodes {
  const nodeCount = 1 + countNodes(sorted.map(({ token }) => token));
  const trie = {
    nodeCount,
    byteOf: new Uint8Array(nodeCount),
    depthOf: new Uint16Array(nodeCount),
    endOf: new Int32Array(nodeCount),
    tokens: Int32Array.from(sorted, ({ id }) => id),
    tokensBefore: new Int32Array(nodeCount + 1).fill(sorted.length),
    heightOf: new Uint8Array(nodeCount).fill(noHeight),
    oddFrom: new Int32Array(nodeCount + 1).fill(nodeCount),
  };
  const path = [0];
  let before: Uint8Array = new Uint8Array(0);
  let node = 1;
  trie.tokensBefore[0] = 0;
  for (const [index, { token }] of sorted.entries()) {
    const kept = commonLength(before, token);
    close(trie, path.splice(kept + 1), node);
    for (let depth = kept; depth < token.length; depth++) {
      trie.byteOf[node] = token[depth];
      trie.depthOf[node] = depth + 1;
      trie.tokensBefore[node] = index;
      path.push(node);
      node += 1;
    }
    before = token;
  }
  close(trie, path, node);
  for (let at = nodeCount - 1; at >= 0; at--)
    trie.oddFrom[at] = isHarmlessByte(trie.byteOf[at]) ? trie.oddFrom[at + 1] : at;
  return trie;
}

function close(trie: TrieNodes, finished: readonly number[], end: number): void {
  for (const node of finished) trie.endOf[node] = end;
}

function countNodes(sorted: readonly Uint8Array[]): number {
  return sorted.reduce(
    (count, token, index) =>
      count + token.length - (index === 0 ? 0 : commonLength(sorted[index - 1], token)),
    0,
  );
}

function commonLength(one: Uint8Array, other: Uint8Array): number {
  const most = Math.min(one.length, other.length);
  let length = 0;
  while (length < most && one[length] === other[length]) length++;
  return length;
}

function compareBytes(one: Uint8Array, other: Uint8Array): number {
  const length = commonLength(one, other);
  return (one[length] ?? -1) - (other[length] ?? -1);
}

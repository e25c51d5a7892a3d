// The tokens of a vocabulary by their bytes, laid flat: the nodes of the tree in depth-first order, each with the place
// behind its subtree, so that a walk is one pass over arrays that skips what cannot match. Built once for a tokenizer.

/** The tokens that a mask may allow; control tokens (an end, a role) have no bytes here and are never allowed by a mask. */
export interface TokenBytes {
  /** By token id; null for a control token and for an id without a token. */
  readonly bytes: readonly (Uint8Array | null)[];
}

/** The nodes of a tree of tokens. Node 0 is the root, which stands for no byte. */
export interface TrieNodes {
  readonly nodeCount: number;
  /** The byte that leads to each node. */
  readonly byteOf: Uint8Array;
  /** How many bytes lead to each node. */
  readonly depthOf: Uint16Array;
  /** The first node behind each node's subtree. */
  readonly endOf: Int32Array;
  /** The first of the tokens that end at each node, or -1. */
  readonly tokenAt: Int32Array;
  /** The next token of the same bytes, by token, or -1. */
  readonly nextTwin: Int32Array;
}

export interface TokenTrie {
  readonly tokenCount: number;
  /** By token id; null where the token is none that a mask may allow. */
  readonly bytesOf: readonly (Uint8Array | null)[];
  /** Bytes of the longest token. */
  readonly depthMax: number;
  /** All tokens. */
  readonly nodes: TrieNodes;
  /** The tokens of harmless bytes alone, a bit each: where these change nothing they need no walk. */
  readonly harmless: Uint32Array;
  /** All other tokens. */
  readonly others: TrieNodes;
}

/** Bytes that mean nothing special inside strings: printable ASCII but the quotation mark and the backslash. */
export const harmlessBytes: readonly number[] = Array.from(
  { length: 0x7f - 0x20 },
  (_, index) => 0x20 + index,
).filter((byte) => byte !== 0x22 && byte !== 0x5c);

/** Tokens longer than this are left out of every mask. */
const tokenBytesMax = 1_024;

export function buildTokenTrie({ bytes }: TokenBytes): TokenTrie {
  const bytesOf = bytes.map((token) =>
    token === null || token.length === 0 || token.length > tokenBytesMax ? null : token,
  );
  const sorted = bytesOf.flatMap((token, id) => (token === null ? [] : [{ token, id }]));
  sorted.sort((one, other) => compareBytes(one.token, other.token) || one.id - other.id);
  const isHarmless = new Set(harmlessBytes);
  const harmless = new Uint32Array(Math.ceil(bytes.length / 32));
  const others = sorted.filter(({ token, id }) => {
    if (token.some((byte) => !isHarmless.has(byte))) return true;
    harmless[id >>> 5] |= 1 << (id & 31);
    return false;
  });
  return {
    tokenCount: bytes.length,
    bytesOf,
    depthMax: sorted.reduce((most, { token }) => Math.max(most, token.length), 0),
    nodes: laidFlat(sorted, bytes.length),
    harmless,
    others: laidFlat(others, bytes.length),
  };
}

type Sorted = readonly { readonly token: Uint8Array; readonly id: number }[];

function laidFlat(sorted: Sorted, tokenCount: number): TrieNodes {
  const nodeCount = 1 + countNodes(sorted.map(({ token }) => token));
  const trie = {
    nodeCount,
    byteOf: new Uint8Array(nodeCount),
    depthOf: new Uint16Array(nodeCount),
    endOf: new Int32Array(nodeCount),
    tokenAt: new Int32Array(nodeCount).fill(-1),
    nextTwin: new Int32Array(tokenCount).fill(-1),
  };
  const path = [0];
  let before = new Uint8Array(0);
  let node = 1;
  for (const { token, id } of sorted) {
    const kept = commonLength(before, token);
    close(trie, path.splice(kept + 1), node);
    for (let depth = kept; depth < token.length; depth++) {
      trie.byteOf[node] = token[depth];
      trie.depthOf[node] = depth + 1;
      path.push(node);
      node += 1;
    }
    const at = path[token.length];
    trie.nextTwin[id] = trie.tokenAt[at];
    trie.tokenAt[at] = id;
    before = new Uint8Array(token);
  }
  close(trie, path, node);
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

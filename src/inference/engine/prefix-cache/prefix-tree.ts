// A radix tree over cached prompts. It maps tokens to numbered blocks; each node has one block, which holds a fixed
// number of positions. The least recently used block is evicted first, but never before its continuations.
import { assert, present } from "../../../base/domain/assert.ts";

/** Positions [start, start + count) of a prompt, stored in a block starting at `offset`. */
export interface BlockSpan {
  readonly block: number;
  readonly offset: number;
  readonly start: number;
  readonly count: number;
}

interface TreeNode {
  /** Block number; null for a scope's root, which has no tokens. */
  readonly block: number | null;
  readonly parent: TreeNode | null;
  /** Key of the node among its parent's children. For a root, the scope. */
  readonly key: string;
  /** Tokens whose keys and values are in the block. */
  readonly tokenIds: number[];
  /**
   * Nodes that continue this node or branch off within its tokens, by the number of shared tokens and the next token.
   */
  readonly children: Map<string, TreeNode>;
}

/** Longest cached prefix of a prompt. */
interface Match {
  /** Nodes from the root on. Of the last node, only some tokens may match. */
  readonly path: readonly TreeNode[];
  readonly spans: readonly BlockSpan[];
  readonly count: number;
  /** Number of tokens of the last node that match. */
  readonly matchedCount: number;
}

export class PrefixTree {
  readonly blockPositions: number;
  #blockCountMax: number;
  readonly #roots = new Map<string, TreeNode>();
  /** Nodes with blocks, the least recently used first. Continuations of a node come before it. */
  readonly #order = new Set<TreeNode>();
  readonly #freeBlocks: number[] = [];
  #numberedCount = 0;

  constructor(blockPositions: number, blockCountMax: number) {
    this.blockPositions = blockPositions;
    this.#blockCountMax = blockCountMax;
  }

  get blockCount(): number {
    return this.#order.size;
  }

  /**
   * Finds the cached prefix of a prompt, and marks its blocks as used.
   *
   * @param scope prompts of different scopes share nothing
   * @param countMax maximum number of tokens to look up
   * @returns spans in order, from the first token on; empty if nothing is cached
   */
  find(scope: string, tokenIds: readonly number[], countMax: number): readonly BlockSpan[] {
    const root = this.#roots.get(scope);
    if (root === undefined) return [];
    const { path, spans } = matchFrom(root, tokenIds, countMax);
    this.#use(path);
    return spans;
  }

  /**
   * Adds the first `count` tokens of a prompt, or as many as there are blocks for. Evicts the least recently used
   * blocks if necessary.
   *
   * @returns the new positions, which the caller must write
   */
  add(scope: string, tokenIds: readonly number[], count: number): readonly BlockSpan[] {
    const root = this.#roots.get(scope) ?? rootNode(scope);
    const match = matchFrom(root, tokenIds, count);
    this.#use(match.path);
    const path = new Set(match.path);
    const written: BlockSpan[] = [];
    let node = present(match.path.at(-1), "the root of a path");
    let offset = match.matchedCount;
    for (let start = match.count; start < count;) {
      // A partly filled block is continued if the new tokens begin exactly at its end. If they begin elsewhere, they
      // need a new block.
      if (node.block === null || offset < node.tokenIds.length || offset === this.blockPositions) {
        const block = this.#takeBlock(path);
        if (block === null) break;
        node = this.#addChild(node, block, childKey(offset, tokenIds[start]));
        path.add(node);
        offset = 0;
      }
      const added = tokenIds.slice(start, Math.min(count, start + this.blockPositions - offset));
      const block = present(node.block, "the block of a node below the root");
      written.push({ block, offset, start, count: added.length });
      node.tokenIds.push(...added);
      start += added.length;
      offset += added.length;
    }
    this.#use([...path]);
    return written;
  }

  /**
   * Changes the maximum number of blocks, and evicts blocks in excess of it.
   *
   * @returns the evicted block numbers
   */
  limit(blockCountMax: number): readonly number[] {
    this.#blockCountMax = blockCountMax;
    const dropped: number[] = [];
    while (this.#order.size > blockCountMax) dropped.push(this.#dropOldest());
    return dropped;
  }

  /**
   * Returns a free block. Without a free block, evicts the least recently used one; returns null if all blocks belong
   * to `path`.
   */
  #takeBlock(path: ReadonlySet<TreeNode>): number | null {
    if (this.#order.size >= this.#blockCountMax) {
      const [oldest] = this.#order;
      if (oldest === undefined || path.has(oldest)) return null;
      this.#dropOldest();
    }
    return this.#freeBlocks.pop() ?? this.#numberedCount++;
  }

  #addChild(parent: TreeNode, block: number, key: string): TreeNode {
    assert(!parent.children.has(key), "a new child begins as no other does");
    const child: TreeNode = { block, parent, key, tokenIds: [], children: new Map() };
    parent.children.set(key, child);
    if (parent.block === null) this.#roots.set(parent.key, parent);
    this.#order.add(child);
    return child;
  }

  #dropOldest(): number {
    const [oldest] = this.#order;
    assert(oldest.children.size === 0, "continuations of a node are evicted before it");
    this.#order.delete(oldest);
    const parent = present(oldest.parent, "the parent of a node below the root");
    parent.children.delete(oldest.key);
    if (parent.block === null && parent.children.size === 0) this.#roots.delete(parent.key);
    const block = present(oldest.block, "the block of a node below the root");
    this.#freeBlocks.push(block);
    return block;
  }

  /**
   * Marks the nodes of a path as used. The last node comes first, so that each node is evicted before its ancestors.
   */
  #use(path: readonly TreeNode[]): void {
    for (let depth = path.length - 1; depth > 0; depth--) {
      this.#order.delete(path[depth]);
      this.#order.add(path[depth]);
    }
  }
}

function rootNode(scope: string): TreeNode {
  return { block: null, parent: null, key: scope, tokenIds: [], children: new Map() };
}

function childKey(offset: number, tokenId: number): string {
  return `${offset} ${tokenId}`;
}

/** Follows the tokens of a prompt through the tree, until the first token that is not cached. */
function matchFrom(root: TreeNode, tokenIds: readonly number[], countMax: number): Match {
  const path = [root];
  const spans: BlockSpan[] = [];
  let node = root;
  let count = 0;
  let matchedCount = 0;
  while (count < countMax) {
    const child = node.children.get(childKey(matchedCount, tokenIds[count]));
    if (child === undefined) break;
    const { block, tokenIds: kept } = child;
    const most = Math.min(kept.length, countMax - count);
    matchedCount = 0;
    while (matchedCount < most && kept[matchedCount] === tokenIds[count + matchedCount]) matchedCount += 1;
    spans.push({
      block: present(block, "the block of a child"),
      offset: 0,
      start: count,
      count: matchedCount,
    });
    path.push(child);
    count += matchedCount;
    node = child;
  }
  return { path, spans, count, matchedCount };
}

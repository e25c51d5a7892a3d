// The prefix cache: copies of computed prompts' keys and values in blocks, evicted least recently used first. It holds
// only results of prefill, which do not depend on how a prompt is cut, so using the cache changes no bit. Readers get
// a copy in their lane's slot, so nothing is locked.
import type { KvLane } from "../cache/kv-lane.ts";
import { positionBytes } from "../cache/slab.ts";
import type { ModelShape } from "../model-shape.ts";
import { PrefixTree } from "./prefix-tree.ts";

/**
 * Positions per block: few enough that the last block of a prompt, on average half full, wastes little; many enough to
 * copy in long runs.
 */
const blockPositions = 32;

/** A prompt, with the scope that its keys and values depend on. */
export interface CachedPrompt {
  /** Identifies the weights and the owners that may share cached entries; scopes share nothing with each other. */
  readonly scope: string;
  readonly tokenIds: readonly number[];
}

/** Location of a running prompt's keys and values. */
export interface SlotRef {
  readonly lane: KvLane;
  readonly slot: number;
}

export class PrefixCache {
  readonly #bytesMax: number;
  #bytesAllowed: number;
  readonly #blockBytes: number;
  #blockCountAllowed: number;
  readonly #tree: PrefixTree;
  readonly #blocks = new Map<number, Float32Array>();
  readonly #endScores = new EndScores();
  /** Memory of blocks that was lent to readers; a lent block that is reused gets new memory. */
  readonly #lent = new WeakSet<Float32Array>();

  /** @param bytesMax maximum size; 0 disables the cache */
  constructor(shape: ModelShape, bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#bytesAllowed = bytesMax;
    this.#blockBytes = blockPositions * positionBytes(shape);
    this.#blockCountAllowed = Math.floor(bytesMax / this.#blockBytes);
    this.#tree = new PrefixTree(blockPositions, this.#blockCountAllowed);
  }

  get bytes(): number {
    return this.#blocks.size * this.#blockBytes + this.#endScores.bytes;
  }

  /** Number of positions that can be cached at this moment. */
  get positionCountMax(): number {
    return this.#blockCountAllowed * blockPositions;
  }

  /** Evicts entries until the rest fit this size, which remains the limit until the next call. */
  limit(bytesAllowed: number): void {
    this.#bytesAllowed = Math.min(this.#bytesMax, bytesAllowed);
    if (this.#bytesAllowed < this.#endScores.bytes) this.#endScores.clear();
    this.#limitBlocks();
  }

  /** Returns the logits after the last token of a prompt that is fully cached; null if they are missing. */
  scoresAfter({ scope, tokenIds }: CachedPrompt): Float32Array | null {
    return this.#endScores.find(scope, tokenIds);
  }

  /** @param scores_V logits; copied */
  cacheScores({ scope, tokenIds }: CachedPrompt, scores_V: Float32Array): void {
    if (this.#endScores.bytes + scores_V.byteLength + this.#blockBytes > this.#bytesAllowed) return;
    this.#endScores.keep(scope, tokenIds, scores_V);
    this.#limitBlocks();
  }

  /** Returns how many of the first `countMax` tokens of a prompt are cached, and marks them as used. */
  countCached({ scope, tokenIds }: CachedPrompt, countMax: number): number {
    return this.#tree.find(scope, tokenIds, countMax).reduce((sum, { count }) => sum + count, 0);
  }

  /**
   * Extends a slot with cached tokens, up to `countMax`. The slot must hold the first tokens of the prompt and have
   * room.
   *
   * @returns number of copied tokens
   */
  read({ scope, tokenIds }: CachedPrompt, countMax: number, { lane, slot }: SlotRef): number {
    const length = lane.lengths[slot];
    let copied = 0;
    for (const { block, offset, start, count } of this.#tree.find(scope, tokenIds, countMax)) {
      const held = Math.max(0, Math.min(count, length - start));
      const range = { position: start + held, offset: offset + held, count: count - held };
      lane.copyFromBlock(slot, range, this.#block(block));
      copied += range.count;
    }
    lane.advance(slot, copied);
    return copied;
  }

  /** Caches a slot's first `count` tokens of a prompt, as many as fit. */
  keep({ scope, tokenIds }: CachedPrompt, count: number, { lane, slot }: SlotRef): void {
    for (const { block, offset, start, count: added } of this.#tree.add(scope, tokenIds, count)) {
      if (offset === 0) this.#leaveLent(block);
      lane.copyToBlock(slot, { position: start, offset, count: added }, this.#block(block));
    }
  }

  /**
   * Returns the full blocks of a prompt, from the first token on, without copying them. The reader may use them
   * indefinitely; eviction does not change them.
   */
  lend({ scope, tokenIds }: CachedPrompt): readonly Float32Array[] {
    const lent: Float32Array[] = [];
    for (const { block: number, count } of this.#tree.find(scope, tokenIds, tokenIds.length)) {
      if (count < blockPositions) break;
      const block = this.#block(number);
      this.#lent.add(block);
      lent.push(block);
    }
    return lent;
  }

  /** Limits blocks to the memory that cached logits leave. */
  #limitBlocks(): void {
    const allowed = Math.max(0, Math.floor((this.#bytesAllowed - this.#endScores.bytes) / this.#blockBytes));
    if (allowed === this.#blockCountAllowed) return;
    this.#blockCountAllowed = allowed;
    for (const block of this.#tree.limit(allowed)) this.#blocks.delete(block);
  }

  /** Drops a block's contents; readers of its memory may continue. */
  #leaveLent(block: number): void {
    const memory = this.#blocks.get(block);
    if (memory !== undefined && this.#lent.has(memory)) this.#blocks.delete(block);
  }

  #block(block: number): Float32Array {
    const made = this.#blocks.get(block);
    if (made !== undefined) return made;
    const memory = new Float32Array(this.#blockBytes / Float32Array.BYTES_PER_ELEMENT);
    this.#blocks.set(block, memory);
    return memory;
  }
}

// Logits after whole prompts. Prompts that are repeated to the last token, such as the rollouts of a task, then need
// no computation. Limited to few prompts, because a row of logits is as large as several positions of keys and values.

/** Maximum number of prompts: rollouts of more prompts seldom run at the same time. */
const promptCountMax = 64;

export class EndScores {
  /** Logits by prompt, the least recently used first. */
  readonly #scores = new Map<string, Float32Array>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  find(scope: string, tokenIds: readonly number[]): Float32Array | null {
    const key = keyOf(scope, tokenIds);
    const scores_V = this.#scores.get(key);
    if (scores_V === undefined) return null;
    this.#scores.delete(key);
    this.#scores.set(key, scores_V);
    return scores_V;
  }

  /** @param scores_V logits; copied */
  keep(scope: string, tokenIds: readonly number[], scores_V: Float32Array): void {
    const key = keyOf(scope, tokenIds);
    if (this.#scores.has(key)) return;
    this.#scores.set(key, scores_V.slice());
    this.#bytes += scores_V.byteLength;
    for (const [oldest, { byteLength }] of this.#scores) {
      if (this.#scores.size <= promptCountMax) break;
      this.#scores.delete(oldest);
      this.#bytes -= byteLength;
    }
  }

  clear(): void {
    this.#scores.clear();
    this.#bytes = 0;
  }
}

function keyOf(scope: string, tokenIds: readonly number[]): string {
  return `${scope} ${tokenIds.join(" ")}`;
}

// The prefix cache: keys and values of computed prompts, copied into blocks, and snapshots of states. It holds only
// results of prefill, which do not depend on how a prompt is divided, so using the cache changes no bit. The least
// recently used entries are evicted first; readers copy entries into their slot, so nothing is locked.
import type { KvLane } from "../cache/kv-lane.ts";
import { positionBytes } from "../cache/slab.ts";
import type { ModelShape } from "../model-shape.ts";
import { type BlockSpan, PrefixTree } from "./prefix-tree.ts";
import { StateSnapshots } from "./state-snapshots.ts";

/**
 * Number of positions in a block. The last block of a prompt is half full on average, so a larger block would waste
 * more; a smaller block would make copies slower.
 */
const blockPositions = 32;

/** A prompt, with the scope on which its keys and values depend. */
export interface CachedPrompt {
  /** Identifies the weights and the owners that may share cached entries; scopes share nothing with each other. */
  readonly scope: string;
  readonly tokenIds: readonly number[];
}

/** Location of a running prompt's keys and values: a slot of a lane. */
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
  /** Snapshots of states; null if the model has none. */
  readonly #snapshots: StateSnapshots | null;
  /**
   * Memory of blocks that readers have borrowed. If a borrowed block is used for other entries, the block gets new
   * memory.
   */
  readonly #lent = new WeakSet<Float32Array>();

  /** @param bytesMax maximum size in bytes; 0 disables the cache */
  constructor(shape: ModelShape, bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#bytesAllowed = bytesMax;
    this.#blockBytes = blockPositions * positionBytes(shape);
    this.#blockCountAllowed = Math.floor(bytesMax / this.#blockBytes);
    this.#tree = new PrefixTree(blockPositions, this.#blockCountAllowed);
    this.#snapshots = shape.states.length === 0 ? null : new StateSnapshots();
  }

  get bytes(): number {
    return this.#blocks.size * this.#blockBytes + this.#fixedBytes;
  }

  /** Number of positions for which the cache has room at this moment. */
  get positionCountMax(): number {
    return this.#blockCountAllowed * blockPositions;
  }

  /** Evicts entries until the remaining ones fit this size in bytes. The size remains the limit until the next call. */
  limit(bytesAllowed: number): void {
    this.#bytesAllowed = Math.min(this.#bytesMax, bytesAllowed);
    if (this.#bytesAllowed < this.#endScores.bytes) this.#endScores.clear();
    this.#limitBlocks();
  }

  /** Returns the logits after the last token of a prompt that is fully cached; null if they are missing. */
  scoresAfter({ scope, tokenIds }: CachedPrompt): Float32Array | null {
    return this.#endScores.find(scope, tokenIds);
  }

  /**
   * Caches the logits after the last token of a prompt.
   *
   * @param scores_V logits; copied
   */
  cacheScores({ scope, tokenIds }: CachedPrompt, scores_V: Float32Array): void {
    if (this.#endScores.bytes + scores_V.byteLength + this.#blockBytes > this.#bytesAllowed) return;
    this.#endScores.keep(scope, tokenIds, scores_V);
    this.#limitBlocks();
  }

  /**
   * Returns two numbers of leading prompt tokens, at most `countMax`: how many can be read, and how many have cached
   * keys and values. In models with states the second number may be greater, if the states after these tokens are not
   * saved. Marks these entries as used.
   */
  countCached(
    { scope, tokenIds }: CachedPrompt,
    countMax: number,
  ): { readonly readable: number; readonly matched: number } {
    const spans = this.#tree.find(scope, tokenIds, countMax);
    return { readable: this.#readableCount(spans), matched: endOf(spans) };
  }

  /**
   * Fills a slot with cached entries of a prompt, up to `countMax` tokens. The slot may already hold the first tokens
   * of the prompt, and must have room.
   *
   * @returns number of copied tokens
   */
  read({ scope, tokenIds }: CachedPrompt, countMax: number, { lane, slot }: SlotRef): number {
    const length = lane.lengths[slot];
    const found = this.#tree.find(scope, tokenIds, countMax);
    const end = this.#readableCount(found);
    if (end <= length) return 0;
    const spans = found
      .filter(({ start }) => start < end)
      .map((span) => ({ ...span, count: Math.min(span.count, end - span.start) }));
    const last = spans[spans.length - 1];
    const states = this.#snapshots?.find(last.block, last.offset + last.count) ?? null;
    if (states !== null) lane.states.write(slot, states);
    let copied = 0;
    for (const { block, offset, start, count } of spans) {
      const held = Math.max(0, Math.min(count, length - start));
      const range = { position: start + held, offset: offset + held, count: count - held };
      lane.copyFromBlock(slot, range, this.#block(block));
      copied += range.count;
    }
    lane.advance(slot, copied);
    return copied;
  }

  /**
   * Caches the first `count` tokens of a prompt from a slot, or as many as fit. Also saves the slot's states if the
   * slot holds exactly these tokens.
   */
  keep({ scope, tokenIds }: CachedPrompt, count: number, { lane, slot }: SlotRef): void {
    for (const { block, offset, start, count: added } of this.#tree.add(scope, tokenIds, count)) {
      if (offset === 0) {
        this.#leaveLent(block);
        this.#snapshots?.dropBlock(block);
      }
      lane.copyToBlock(slot, { position: start, offset, count: added }, this.#block(block));
    }
    if (this.#snapshots === null || lane.lengths[slot] !== count) return;
    const spans = this.#tree.find(scope, tokenIds, count);
    const last = spans.at(-1);
    if (last === undefined || endOf(spans) < count) return;
    if (!this.#snapshots.has(last.block, last.offset + last.count))
      this.#snapshots.save(last.block, last.offset + last.count, lane.states.read(slot));
    this.#limitBlocks();
  }

  /**
   * Returns the full blocks of a cached prompt, from the first token on, without copying them. The caller may use them
   * indefinitely, because eviction does not change them.
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

  /** Size in bytes of the cached logits and states, which are stored outside of blocks. */
  get #fixedBytes(): number {
    return this.#endScores.bytes + (this.#snapshots?.bytes ?? 0);
  }

  /**
   * Returns how many tokens of a cached prefix can be read. In a model with states, the prefix is usable only up to the
   * last position whose states are saved.
   */
  #readableCount(spans: readonly BlockSpan[]): number {
    const snapshots = this.#snapshots;
    if (snapshots === null) return endOf(spans);
    for (const { block, offset, start, count } of spans.toReversed())
      for (let size = count; size > 0; size--) if (snapshots.has(block, offset + size)) return start + size;
    return 0;
  }

  /**
   * Limits snapshots to half of the allowed memory, and blocks to the memory that snapshots and cached logits leave
   * free.
   */
  #limitBlocks(): void {
    this.#snapshots?.limit(this.#bytesAllowed / 2);
    const allowed = Math.max(0, Math.floor((this.#bytesAllowed - this.#fixedBytes) / this.#blockBytes));
    if (allowed === this.#blockCountAllowed) return;
    this.#blockCountAllowed = allowed;
    for (const block of this.#tree.limit(allowed)) {
      this.#blocks.delete(block);
      this.#snapshots?.dropBlock(block);
    }
  }

  /**
   * Prepares a block for other entries. If a reader has borrowed its memory, the reader keeps that memory, and the
   * block gets a new one.
   */
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

/** Returns the position at which a list of spans ends. The spans must begin at position 0 and follow one another. */
function endOf(spans: readonly BlockSpan[]): number {
  const last = spans.at(-1);
  return last === undefined ? 0 : last.start + last.count;
}

// Logits after whole prompts. If exactly the same prompt is sent again, as in the rollouts of a task, it needs no
// computation. Limited to few prompts, because their logits take as much memory as several positions of keys and
// values.

/** Maximum number of prompts whose logits are cached. Rollouts of more prompts seldom run at the same time. */
const promptCountMax = 64;

export class EndScores {
  /** Logits by scope and prompt, the least recently used first. */
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

  /**
   * Caches the logits after a prompt, unless they are already cached.
   *
   * @param scores_V logits; copied
   */
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

// What was computed of prompts, kept for those that begin alike: copies of keys and values in blocks, the least recently
// used of which go when there are too many. It is only given what a prefill made, so that reading it changes no bit: how
// a prompt is cut into parts changes none either.
// Nothing is held while it is in use: whoever reads it gets a copy, in the slot of a lane.
import type { KvLane } from "../cache/kv-lane.ts";
import { positionBytes } from "../cache/slab.ts";
import type { ModelShape } from "../model-shape.ts";
import { PrefixTree } from "./prefix-tree.ts";

/** Small enough that the last block of a prompt, on average half full, wastes little; large enough to copy in long runs. */
const blockPositions = 32;

/** A prompt, by what its keys and values depend on. */
export interface KeptPrompt {
  /** Says which weights computed it, and for whom: nothing is shared between scopes. */
  readonly scope: string;
  readonly tokenIds: readonly number[];
}

/** Where the keys and values of a prompt lie while it runs. */
export interface SlotPlace {
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
  /** Memory that others read too; what is kept in its place gets other memory. */
  readonly #lent = new WeakSet<Float32Array>();

  /** @param bytesMax 0 keeps nothing */
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

  /** How many positions can be kept at this moment. */
  get positionCountMax(): number {
    return this.#blockCountAllowed * blockPositions;
  }

  /** Gives memory back until no more than this is used, and takes no more of it before the next call. */
  limit(bytesAllowed: number): void {
    this.#bytesAllowed = Math.min(this.#bytesMax, bytesAllowed);
    if (this.#bytesAllowed < this.#endScores.bytes) this.#endScores.clear();
    this.#limitBlocks();
  }

  /** The scores after the last token of a prompt, all of which is kept; null where they are not. */
  scoresAfter({ scope, tokenIds }: KeptPrompt): Float32Array | null {
    return this.#endScores.find(scope, tokenIds);
  }

  /** @param scores_V copied */
  keepScores({ scope, tokenIds }: KeptPrompt, scores_V: Float32Array): void {
    if (this.#endScores.bytes + scores_V.byteLength + this.#blockBytes > this.#bytesAllowed) return;
    this.#endScores.keep(scope, tokenIds, scores_V);
    this.#limitBlocks();
  }

  /** How many of the first `countMax` tokens of a prompt are kept; they count as used. */
  countKept({ scope, tokenIds }: KeptPrompt, countMax: number): number {
    return this.#tree.find(scope, tokenIds, countMax).reduce((sum, { count }) => sum + count, 0);
  }

  /**
   * Fills a slot, which holds the first tokens of a prompt and has room, up to `countMax` of them as far as they are kept.
   *
   * @returns how many were copied
   */
  read({ scope, tokenIds }: KeptPrompt, countMax: number, { lane, slot }: SlotPlace): number {
    const length = lane.lengths[slot];
    let copied = 0;
    for (const { block, place, start, count } of this.#tree.find(scope, tokenIds, countMax)) {
      const held = Math.max(0, Math.min(count, length - start));
      const range = { position: start + held, place: place + held, count: count - held };
      lane.copyFromBlock(slot, range, this.#block(block));
      copied += range.count;
    }
    lane.advance(slot, copied);
    return copied;
  }

  /** Keeps what a slot holds of the first `count` tokens of a prompt, as far as there is memory for it. */
  keep({ scope, tokenIds }: KeptPrompt, count: number, { lane, slot }: SlotPlace): void {
    for (const { block, place, start, count: added } of this.#tree.add(scope, tokenIds, count)) {
      if (place === 0) this.#leaveLent(block);
      lane.copyToBlock(slot, { position: start, place, count: added }, this.#block(block));
    }
  }

  /**
   * The full blocks of a prompt themselves, one after the other from the first token on: whoever gets them may read them for
   * as long as it likes, whatever is kept or not by then.
   */
  lend({ scope, tokenIds }: KeptPrompt): readonly Float32Array[] {
    const lent: Float32Array[] = [];
    for (const { block: number, count } of this.#tree.find(scope, tokenIds, tokenIds.length)) {
      if (count < blockPositions) break;
      const block = this.#block(number);
      this.#lent.add(block);
      lent.push(block);
    }
    return lent;
  }

  /** Blocks have what scores leave. */
  #limitBlocks(): void {
    const allowed = Math.max(0, Math.floor((this.#bytesAllowed - this.#endScores.bytes) / this.#blockBytes));
    if (allowed === this.#blockCountAllowed) return;
    this.#blockCountAllowed = allowed;
    for (const block of this.#tree.limit(allowed)) this.#blocks.delete(block);
  }

  /** What was kept in a block is dropped; whoever has its memory goes on reading that. */
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

// The scores after whole prompts, for those that come again to the last token, as the rollouts of one prompt do: they need
// no computation at all then. Of few prompts, since a row of scores is as large as some positions of keys and values.

/** Rollouts of more prompts than these seldom run beside each other. */
const promptCountMax = 64;

export class EndScores {
  /** By prompt, the least recently used first. */
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

  /** @param scores_V copied */
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

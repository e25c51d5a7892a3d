// What was computed of prompts, kept for those that begin alike: copies of keys and values in blocks, the least recently
// used of which go when there are too many. It is only given what a prefill made, so that reading it changes no bit: how
// a prompt is cut into parts changes none either.
// Nothing is held while it is in use: whoever reads it gets a copy, in the slot of a lane.
import { positionBytes, type KvLane } from "../cache/kv-lane.ts";
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
  readonly #tree: PrefixTree;
  readonly #blockSize: number;
  readonly #blockCountMax: number;
  #blockCountAllowed: number;
  readonly #blocks = new Map<number, Float32Array>();

  /** @param bytesMax 0 keeps nothing */
  constructor(shape: ModelShape, bytesMax: number) {
    const blockBytes = blockPositions * positionBytes(shape);
    this.#blockSize = blockBytes / Float32Array.BYTES_PER_ELEMENT;
    this.#blockCountMax = Math.floor(bytesMax / blockBytes);
    this.#blockCountAllowed = this.#blockCountMax;
    this.#tree = new PrefixTree(blockPositions, this.#blockCountMax);
  }

  get bytes(): number {
    return this.#blocks.size * this.#blockSize * Float32Array.BYTES_PER_ELEMENT;
  }

  /** How many positions can be kept at this moment. */
  get positionCountMax(): number {
    return this.#blockCountAllowed * blockPositions;
  }

  /** Gives memory back until no more than this is used, and takes no more of it before the next call. */
  limit(bytesAllowed: number): void {
    const blockBytes = this.#blockSize * Float32Array.BYTES_PER_ELEMENT;
    const allowed = Math.max(0, Math.min(this.#blockCountMax, Math.floor(bytesAllowed / blockBytes)));
    if (allowed === this.#blockCountAllowed) return;
    this.#blockCountAllowed = allowed;
    for (const block of this.#tree.limit(allowed)) this.#blocks.delete(block);
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
    for (const { block, place, start, count: added } of this.#tree.add(scope, tokenIds, count))
      lane.copyToBlock(slot, { position: start, place, count: added }, this.#block(block));
  }

  #block(block: number): Float32Array {
    const made = this.#blocks.get(block);
    if (made !== undefined) return made;
    const memory = new Float32Array(this.#blockSize);
    this.#blocks.set(block, memory);
    return memory;
  }
}

// A lane: the keys, values and states of rows that are computed together, each in a slot. Used slots come first, so a
// batch is a contiguous view that a graph takes without a copy. A lane does not know the use or adapter of a slot, or
// the cache's total memory.
import { assert } from "../../../base/domain/assert.ts";
import type { ModelShape } from "../model-shape.ts";
import { SequenceStates } from "./sequence-states.ts";
import { copyRun, positionValues, Slab } from "./slab.ts";

/**
 * Every capacity is a multiple of this number of positions. Kernels then add up a row's values in the same groups at
 * every capacity.
 */
export const positionGranule = 64;

export function roundUpPositions(count: number): number {
  return Math.ceil(count / positionGranule) * positionGranule;
}

/** New keys and values of one layer as a graph returns them: [row, kv head, position, head size]. */
export interface NewEntries {
  readonly keys: Float32Array;
  readonly values: Float32Array;
  /** Positions per row in `keys` and `values`, including padding. */
  readonly positionCount: number;
}

/** Positions [start, start + count) of one row of new entries. */
export interface EntryRange {
  readonly row: number;
  readonly start: number;
  readonly count: number;
}

/**
 * A range of a slot's positions, [position, position + count), that is also stored in a block. There it starts at the
 * block's position `offset`.
 */
export interface BlockRange {
  readonly position: number;
  readonly offset: number;
  readonly count: number;
}

/**
 * Contents of the used slots, which are numbered from 0 to `usedCount` - 1. Code that moves a slot must inform the row
 * that uses the slot.
 */
export class KvLane {
  readonly shape: ModelShape;
  /** Number of filled positions of each slot. */
  readonly lengths: number[] = [];
  readonly states: SequenceStates;
  #slab: Slab;

  constructor(shape: ModelShape) {
    this.shape = shape;
    this.#slab = new Slab(shape, 0, 0);
    this.states = new SequenceStates(shape.states);
  }

  get usedCount(): number {
    return this.lengths.length;
  }

  /** Number of positions for which each slot has room. */
  get capacity(): number {
    return this.#slab.capacity;
  }

  /** Number of slots that the lane's present slab can hold with the present capacity. */
  get slotRoom(): number {
    return this.#slab.slotRoom;
  }

  /** Number of positions of all slots together that fit into the lane's present slab. */
  get positionRoom(): number {
    return this.#slab.positionRoom;
  }

  /**
   * Number of positions of all slots together that take memory because this lane, or an earlier lane with the same
   * slab, has written them.
   */
  get writtenCount(): number {
    return this.#slab.writtenCount;
  }

  /** Longest length of a slot; 0 if no slot is used. */
  get longest(): number {
    return Math.max(0, ...this.lengths);
  }

  /** Size in bytes of all memory that may have been written. */
  get bytes(): number {
    return this.#slab.writtenBytes + this.states.bytes;
  }

  /** Returns the keys of consecutive slots as a view, not a copy: [slotCount, kv head, capacity, head size]. */
  keys(layer: number, slot: number, slotCount: number): Float32Array {
    return this.#slab.keys[layer].subarray(...this.#rangeOf(layer, slot, slotCount));
  }

  /** Returns the values of consecutive slots as a view, like {@link KvLane.keys}. */
  values(layer: number, slot: number, slotCount: number): Float32Array {
    return this.#slab.values[layer].subarray(...this.#rangeOf(layer, slot, slotCount));
  }

  /** Starts using the next slot, which is empty. The lane must have room for it. */
  takeSlot(): number {
    assert(this.usedCount < this.slotRoom, "a slot is taken only where there is room");
    const slot = this.lengths.push(0) - 1;
    this.states.resize(this.usedCount, slot);
    this.states.clear(slot);
    this.#slab.noteSlots(this.usedCount);
    return slot;
  }

  /** Frees the last slot. */
  dropLastSlot(): void {
    assert(this.usedCount > 0, "only a used slot is dropped");
    this.lengths.pop();
    this.states.resize(this.usedCount, this.usedCount);
  }

  /**
   * Overwrites a slot with the contents of another slot; the target slot may be in another lane.
   *
   * @param start number of leading positions that are already equal in both slots
   */
  copySlot(from: number, to: number, start = 0, target: KvLane = this): void {
    if (target === this && from === to) return;
    const length = this.lengths[from];
    assert(length <= target.capacity, "a copy fits its slot");
    if (start < length)
      this.#slab.copyTo(target.#slab, { slot: from, position: start, count: length - start }, to);
    this.states.copy(from, to, target.states);
    target.lengths[to] = length;
  }

  swapSlots(a: number, b: number): void {
    if (a === b) return;
    if (this.lengths[a] === 0 || this.lengths[b] === 0) {
      const [from, to] = this.lengths[a] === 0 ? [b, a] : [a, b];
      this.copySlot(from, to);
      this.states.clear(from);
      this.lengths[from] = 0;
      return;
    }
    this.#slab.swap(a, b, Math.max(this.lengths[a], this.lengths[b]));
    this.states.swap(a, b);
    [this.lengths[a], this.lengths[b]] = [this.lengths[b], this.lengths[a]];
  }

  /**
   * Writes a range of new entries after the slot's contents. Does not change the slot's length, because other layers
   * are written afterwards; see {@link KvLane.advance}.
   */
  write(layer: number, slot: number, { row, start, count }: EntryRange, entries: NewEntries): void {
    const { kvHeadCount, headSize } = this.shape.caches[layer];
    const length = this.lengths[slot];
    assert(length + count <= this.capacity, "new keys and values fit the slot");
    for (let head = 0; head < kvHeadCount; head++) {
      const from = ((row * kvHeadCount + head) * entries.positionCount + start) * headSize;
      const to = this.#slab.start(layer, slot, head) + length * headSize;
      copyRun(entries.keys, from, this.#slab.keys[layer], to, count * headSize);
      copyRun(entries.values, from, this.#slab.values[layer], to, count * headSize);
    }
  }

  /**
   * Copies positions of a slot into a block of positions.
   *
   * @param block [layer, keys then values, kv head, position, head size]
   */
  copyToBlock(slot: number, { position, offset, count }: BlockRange, block: Float32Array): void {
    assert(position + count <= this.lengths[slot], "only positions that a slot holds are copied");
    this.#eachRun(slot, block, (slab, from, to, size) =>
      copyRun(slab, from + position * size, block, to + offset * size, count * size),
    );
  }

  /**
   * Copies positions into a slot from a block that {@link KvLane.copyToBlock} wrote. Like {@link KvLane.write}, does
   * not change the slot's length.
   */
  copyFromBlock(slot: number, { position, offset, count }: BlockRange, block: Float32Array): void {
    assert(position + count <= this.capacity, "keys and values of a block fit the slot");
    this.#eachRun(slot, block, (slab, to, from, size) =>
      copyRun(block, from + offset * size, slab, to + position * size, count * size),
    );
  }

  /** Calls a function for each head of each layer, with the head's offsets in the slot's slab and in a block. */
  #eachRun(
    slot: number,
    block: Float32Array,
    visit: (slab: Float32Array, inSlab: number, inBlock: number, headSize: number) => void,
  ): void {
    const positionCount = block.length / positionValues(this.shape);
    let inBlock = 0;
    for (const [layer, { kvHeadCount, headSize }] of this.shape.caches.entries()) {
      for (const slab of [this.#slab.keys[layer], this.#slab.values[layer]]) {
        for (let head = 0; head < kvHeadCount; head++) {
          visit(slab, this.#slab.start(layer, slot, head), inBlock, headSize);
          inBlock += positionCount * headSize;
        }
      }
    }
  }

  /**
   * Adds `count` positions to the slot's length; every layer must already hold them. A negative count removes the last
   * positions.
   */
  advance(slot: number, count: number): void {
    this.lengths[slot] += count;
  }

  /**
   * Makes room for slots of this capacity, and keeps the contents of used slots. Moves these contents within the
   * present slab, or to a new slab if the present one is too small.
   */
  reshape(slotCount: number, capacity: number): void {
    assert(slotCount >= this.usedCount, "a slab keeps its used slots");
    const positionCount = slotCount * capacity;
    if (positionCount > this.positionRoom)
      this.moveTo(new Slab(this.shape, positionCount, capacity), capacity);
    else if (capacity !== this.capacity) this.#slab.setCapacity(capacity, this.lengths);
  }

  /** Copies the contents of used slots to another slab, and uses it from now on. Returns the previous slab. */
  moveTo(slab: Slab, capacity: number): Slab {
    const previous = this.#slab;
    slab.setCapacity(capacity, []);
    slab.noteSlots(this.usedCount);
    for (const [slot, count] of this.lengths.entries()) previous.copyTo(slab, { slot, position: 0, count });
    this.#slab = slab;
    return previous;
  }

  /** Removes the slab from the lane, which must have no used slots, and returns it. */
  close(): Slab {
    assert(this.usedCount === 0, "only an empty lane is closed");
    return this.moveTo(new Slab(this.shape, 0, 0), 0);
  }

  /** Returns the start and the end of consecutive slots in a layer's keys or values. */
  #rangeOf(layer: number, slot: number, slotCount: number): readonly [number, number] {
    return [this.#slab.start(layer, slot, 0), this.#slab.start(layer, slot + slotCount, 0)];
  }
}

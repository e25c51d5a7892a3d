// A lane: the keys, values and states of rows that are computed together, each in a slot. Used slots come first, so a
// batch is a contiguous view that a graph takes without a copy. A lane does not know the use or adapter of a slot, or
// the cache's total memory.
import { assert } from "../../../base/domain/assert.ts";
import type { ModelShape } from "../model-shape.ts";
import { SequenceStates } from "./sequence-states.ts";
import { copyRun, positionBytes, positionValues, Slab, type SpareSlabs } from "./slab.ts";

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
 * Maximum size in bytes of an outgrown slab that is kept for later lanes. Rows that grow together leave several slabs
 * behind, and keeping large ones would double the memory of the rows' keys and values.
 */
const outgrownBytesMax = 64 * 2 ** 20;

/**
 * A new slab that is filled in passes while the lane keeps using its old slab. Each pass copies what was added since
 * the previous pass. It copies all slots of one part (the keys or values of one layer) before the next part, so that it
 * touches new memory one large page at a time.
 */
interface Resizing {
  readonly slab: Slab;
  /** For each slot, the number of positions that have been copied in all parts. */
  readonly copiedCounts: number[];
  /** For each slot, the number of positions that are copied in all parts once the current pass is over. */
  readonly passCounts: number[];
  /** Part and slot to copy next; null between passes. */
  cursor: { part: number; slot: number } | null;
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
  readonly #owner: string;
  readonly #spares: SpareSlabs | null;
  #slab: Slab;
  #resizing: Resizing | null = null;

  /**
   * @param owner key of the model or adapter that computes these keys and values
   * @param spares pool from which the lane takes slabs and to which it returns them; if absent, each slab is new
   */
  constructor(shape: ModelShape, owner = "", spares: SpareSlabs | null = null) {
    this.shape = shape;
    this.#owner = owner;
    this.#spares = spares;
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

  /** Number of slots that take memory because this lane, or an earlier lane with the same slab, has written them. */
  get slotCapacity(): number {
    return this.#slab.writtenSlotCount;
  }

  /** Number of slots that the lane's present slab can hold. */
  get slotRoom(): number {
    return this.#slab.slotRoom;
  }

  get isResizing(): boolean {
    return this.#resizing !== null;
  }

  /** Capacity that the lane is being resized to; null if it is not being resized. */
  get comingCapacity(): number | null {
    return this.#resizing?.slab.capacity ?? null;
  }

  /** Size in bytes of the keys and values at all filled positions. */
  get heldBytes(): number {
    return this.lengths.reduce((sum, length) => sum + length, 0) * positionBytes(this.shape);
  }

  /** Size in bytes of all memory that may have been written, including a new slab that is being filled. */
  get bytes(): number {
    return this.#slab.writtenBytes + (this.#resizing?.slab.writtenBytes ?? 0) + this.states.bytes;
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
    this.#resizing?.copiedCounts.push(0);
    this.#resizing?.passCounts.push(0);
    const slot = this.lengths.push(0) - 1;
    this.states.resize(this.usedCount, slot);
    this.states.clear(slot);
    if (this.#resizing !== null && this.usedCount > this.#resizing.slab.slotRoom) this.stopResizing();
    for (const slab of [this.#slab, ...(this.#resizing === null ? [] : [this.#resizing.slab])])
      slab.writtenSlotCount = Math.max(slab.writtenSlotCount, this.usedCount);
    return slot;
  }

  /** Frees the last slot. */
  dropLastSlot(): void {
    assert(this.usedCount > 0, "only a used slot is dropped");
    this.#resizing?.copiedCounts.pop();
    this.#resizing?.passCounts.pop();
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
    target.#forgetCopied(to, start);
    target.lengths[to] = length;
  }

  swapSlots(a: number, b: number): void {
    if (a === b) return;
    if (this.lengths[a] === 0 || this.lengths[b] === 0) {
      const [from, to] = this.lengths[a] === 0 ? [b, a] : [a, b];
      this.copySlot(from, to);
      this.states.clear(from);
      this.#forgetCopied(from, 0);
      this.lengths[from] = 0;
      return;
    }
    for (const [layer, keys] of this.#slab.keys.entries()) {
      const [ofA, ofB] = [this.#rangeOf(layer, a, 1), this.#rangeOf(layer, b, 1)];
      for (const values of [keys, this.#slab.values[layer]]) {
        const first = values.slice(...ofA);
        values.copyWithin(ofA[0], ...ofB);
        values.set(first, ofB[0]);
      }
    }
    this.states.swap(a, b);
    this.#forgetCopied(a, 0);
    this.#forgetCopied(b, 0);
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
    this.#forgetCopied(slot, this.lengths[slot]);
  }

  /**
   * Resizes the lane immediately, and keeps the contents of used slots. Copies these contents, unless only the number
   * of slots changes and the present slab has room. {@link KvLane.startResizing} spreads the copying over several steps
   * instead.
   *
   * @param slotRoom number of slots that must fit
   */
  reshape(slotRoom: number, capacity: number): void {
    assert(slotRoom >= this.usedCount, "a slab keeps its used slots");
    if (this.#resizing?.slab.capacity !== capacity || this.#resizing.slab.slotRoom < slotRoom) {
      this.stopResizing();
      this.startResizing(slotRoom, capacity);
    }
    this.resize(() => false);
  }

  /**
   * Starts resizing by creating a slab of the new size. {@link KvLane.resize} fills it while the old slab stays in use.
   */
  startResizing(slotRoom: number, capacity: number): void {
    assert(this.#resizing === null, "a lane is resized once at a time");
    assert(slotRoom >= this.usedCount, "a slab keeps its used slots");
    const spare = this.#spares?.take(slotRoom, capacity, this.#owner);
    const slab = spare ?? new Slab(this.shape, slotRoom, capacity);
    slab.writtenSlotCount = Math.max(slab.writtenSlotCount, this.usedCount);
    const counts = this.lengths.map(() => 0);
    this.#resizing = { slab, copiedCounts: counts, passCounts: [...counts], cursor: null };
  }

  stopResizing(): void {
    if (this.#resizing !== null) this.#spares?.give(this.#resizing.slab, this.#owner);
    this.#resizing = null;
  }

  /** Releases the lane's memory. The lane must have no used slots. */
  close(): void {
    assert(this.usedCount === 0, "only an empty lane is closed");
    this.stopResizing();
    this.#spares?.give(this.#slab, this.#owner);
    this.#slab = new Slab(this.shape, 0, 0);
  }

  /**
   * Continues copying into the new slab. Replaces the old slab when everything is copied. If a slot has meanwhile
   * outgrown the new slab, gives the new slab up and keeps the old one.
   *
   * @param isOver called after each copied range; true ends the copying for now
   * @returns number of copied bytes
   */
  resize(isOver: () => boolean): number {
    const resizing = this.#resizing;
    if (resizing === null) return 0;
    const { slab, copiedCounts, passCounts } = resizing;
    if (this.lengths.some((length) => length > slab.capacity)) this.stopResizing();
    let copiedBytes = 0;
    while (this.#resizing !== null) {
      if (resizing.cursor === null) {
        if (this.lengths.every((length, slot) => copiedCounts[slot] === length)) {
          const isOutgrown = slab.capacity > this.#slab.capacity;
          if (!isOutgrown || this.#slab.writtenBytes <= outgrownBytesMax)
            this.#spares?.give(this.#slab, this.#owner);
          else this.#spares?.drop(this.#slab);
          this.#slab = slab;
          this.#resizing = null;
          break;
        }
        this.lengths.forEach((length, slot) => (passCounts[slot] = length));
        resizing.cursor = { part: 0, slot: 0 };
      }
      const { cursor } = resizing;
      if (cursor.slot < this.usedCount) {
        const position = copiedCounts[cursor.slot];
        const range = { slot: cursor.slot, position, count: passCounts[cursor.slot] - position };
        cursor.slot += 1;
        if (range.count === 0) continue;
        copiedBytes += this.#slab.copyPartTo(slab, cursor.part, range);
        if (isOver()) break;
      } else if (cursor.part + 1 < slab.partCount) {
        resizing.cursor = { part: cursor.part + 1, slot: 0 };
      } else {
        passCounts.forEach((count, slot) => (copiedCounts[slot] = count));
        resizing.cursor = null;
      }
    }
    return copiedBytes;
  }

  /** Records that the copy of a slot is outdated from a position on. */
  #forgetCopied(slot: number, position: number): void {
    if (this.#resizing === null) return;
    const { copiedCounts, passCounts } = this.#resizing;
    copiedCounts[slot] = Math.min(copiedCounts[slot], position);
    passCounts[slot] = Math.min(passCounts[slot], position);
  }

  /** Returns the start and the end of consecutive slots in a layer's keys or values. */
  #rangeOf(layer: number, slot: number, slotCount: number): readonly [number, number] {
    return [this.#slab.start(layer, slot, 0), this.#slab.start(layer, slot + slotCount, 0)];
  }
}

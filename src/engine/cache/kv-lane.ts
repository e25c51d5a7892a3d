// Keys and values of running rows: one slab per layer, [slot, kv head, capacity, head size], used
// slots first, so that a batch is a contiguous view that a graph takes without a copy.
// Knows neither what a slot is used for, nor its adapter, nor how much memory there is in all: the cache does.
import { assert } from "../../domain/assert.ts";
import type { ModelShape } from "../model-shape.ts";

/** Capacities are multiples of this, so that sums over a row are grouped alike at every capacity. */
export const positionGranule = 64;

/** The bytes that the keys and values of one position of one slot take, over all layers. */
export function positionBytes(shape: Pick<ModelShape, "layerCount" | "kvHeadCount" | "headSize">): number {
  return shape.layerCount * 2 * shape.kvHeadCount * shape.headSize * Float32Array.BYTES_PER_ELEMENT;
}

export function roundUpPositions(count: number): number {
  return Math.ceil(count / positionGranule) * positionGranule;
}

/**
 * How many slots a slab gets for this many used ones: powers of two up to 8, then multiples of 8. Memory of a slot that
 * is never written is not taken from the machine.
 */
export function roundUpSlots(count: number): number {
  if (count > 8) return Math.ceil(count / 8) * 8;
  let slots = 1;
  while (slots < count) slots *= 2;
  return slots;
}

/** New keys and values of one layer as a graph returns them: [row, kv head, position, head size]. */
export interface NewEntries {
  readonly keys: Float32Array;
  readonly values: Float32Array;
  /** Positions a row has in these arrays, padding included. */
  readonly positionCount: number;
}

/** Positions [start, start + count) of one row of new entries. */
export interface EntryRange {
  readonly row: number;
  readonly start: number;
  readonly count: number;
}

/** Positions [position, position + count) of a slot, which lie in a block from `place` on. */
export interface BlockRange {
  readonly position: number;
  readonly place: number;
  readonly count: number;
}

/** The slabs of rows that are computed together. A slot is a number below `usedCount`; its holder learns when it moves. */
export class KvLane {
  readonly shape: ModelShape;
  /** Positions filled, by slot. */
  readonly lengths: number[] = [];
  #slotCapacity = 0;
  #capacity = 0;
  #keys: Float32Array[] = [];
  #values: Float32Array[] = [];

  constructor(shape: ModelShape) {
    this.shape = shape;
  }

  get usedCount(): number {
    return this.lengths.length;
  }

  /** Positions that a slot has room for. */
  get capacity(): number {
    return this.#capacity;
  }

  get slotCapacity(): number {
    return this.#slotCapacity;
  }

  get bytes(): number {
    return this.#slotCapacity * this.#capacity * positionBytes(this.shape);
  }

  /** A view, not a copy: keys of consecutive slots, [slotCount, kv head, capacity, head size]. */
  keys(layer: number, slot: number, slotCount: number): Float32Array {
    return this.#view(this.#keys[layer], slot, slotCount);
  }

  /** A view, not a copy, as {@link KvLane.keys}. */
  values(layer: number, slot: number, slotCount: number): Float32Array {
    return this.#view(this.#values[layer], slot, slotCount);
  }

  /** The next slot, empty; there must be room for it. */
  takeSlot(): number {
    assert(this.usedCount < this.#slotCapacity, "a slot is taken only where there is room");
    return this.lengths.push(0) - 1;
  }

  /** Gives the last slot back. */
  dropLastSlot(): void {
    assert(this.usedCount > 0, "only a used slot is dropped");
    this.lengths.pop();
  }

  /**
   * Copies what one slot holds over another.
   *
   * @param start up to where both hold the same already
   */
  copySlot(from: number, to: number, start = 0): void {
    if (from === to) return;
    const { kvHeadCount, headSize } = this.shape;
    const headStride = this.#capacity * headSize;
    const first = start * headSize;
    const end = this.lengths[from] * headSize;
    for (const slab of [...this.#keys, ...this.#values]) {
      for (let head = 0; head < kvHeadCount; head++) {
        const source = (from * kvHeadCount + head) * headStride;
        const target = (to * kvHeadCount + head) * headStride;
        slab.copyWithin(target + first, source + first, source + end);
      }
    }
    this.lengths[to] = this.lengths[from];
  }

  swapSlots(a: number, b: number): void {
    if (a === b) return;
    if (this.lengths[a] === 0 || this.lengths[b] === 0) {
      const [from, to] = this.lengths[a] === 0 ? [b, a] : [a, b];
      this.copySlot(from, to);
      this.lengths[from] = 0;
      return;
    }
    const slotStride = this.shape.kvHeadCount * this.#capacity * this.shape.headSize;
    for (const slab of [...this.#keys, ...this.#values]) {
      const first = slab.slice(a * slotStride, (a + 1) * slotStride);
      slab.copyWithin(a * slotStride, b * slotStride, (b + 1) * slotStride);
      slab.set(first, b * slotStride);
    }
    [this.lengths[a], this.lengths[b]] = [this.lengths[b], this.lengths[a]];
  }

  /**
   * Writes a range of new entries after what the slot holds. The length stays until {@link KvLane.advance}, since layers
   * come one after another.
   */
  write(layer: number, slot: number, { row, start, count }: EntryRange, entries: NewEntries): void {
    const { kvHeadCount, headSize } = this.shape;
    const length = this.lengths[slot];
    assert(length + count <= this.#capacity, "new keys and values fit the slot");
    for (let head = 0; head < kvHeadCount; head++) {
      const from = ((row * kvHeadCount + head) * entries.positionCount + start) * headSize;
      const to = ((slot * kvHeadCount + head) * this.#capacity + length) * headSize;
      copyRun(entries.keys, from, this.#keys[layer], to, count * headSize);
      copyRun(entries.values, from, this.#values[layer], to, count * headSize);
    }
  }

  /**
   * Copies positions of a slot into a block.
   *
   * @param block [layer, keys then values, kv head, position, head size]
   */
  copyToBlock(slot: number, { position, place, count }: BlockRange, block: Float32Array): void {
    assert(position + count <= this.lengths[slot], "only what a slot holds is copied");
    this.#eachRun(slot, block, (slab, from, to) =>
      copyRun(
        slab,
        from + position * this.shape.headSize,
        block,
        to + place * this.shape.headSize,
        count * this.shape.headSize,
      ),
    );
  }

  /** Copies positions from a block that {@link KvLane.copyToBlock} wrote; the length stays, as in {@link KvLane.write}. */
  copyFromBlock(slot: number, { position, place, count }: BlockRange, block: Float32Array): void {
    assert(position + count <= this.#capacity, "keys and values of a block fit the slot");
    this.#eachRun(slot, block, (slab, to, from) =>
      copyRun(
        block,
        from + place * this.shape.headSize,
        slab,
        to + position * this.shape.headSize,
        count * this.shape.headSize,
      ),
    );
  }

  /** Visits every head of every layer: where it begins in its slab, for the slot, and in a block. */
  #eachRun(
    slot: number,
    block: Float32Array,
    visit: (slab: Float32Array, inSlab: number, inBlock: number) => void,
  ): void {
    const { layerCount, kvHeadCount, headSize } = this.shape;
    const inBlockStride = block.length / (layerCount * 2 * kvHeadCount);
    let inBlock = 0;
    for (let layer = 0; layer < layerCount; layer++) {
      for (const slab of [this.#keys[layer], this.#values[layer]]) {
        for (let head = slot * kvHeadCount; head < (slot + 1) * kvHeadCount; head++) {
          visit(slab, head * this.#capacity * headSize, inBlock);
          inBlock += inBlockStride;
        }
      }
    }
  }

  /** Says that every layer now holds `count` more positions of the slot. */
  advance(slot: number, count: number): void {
    this.lengths[slot] += count;
  }

  /**
   * Gives the slabs another size, keeping what the used slots hold. Slabs that grow within the room they were made with
   * stay where they are; all others are made anew, one layer after the other, so that the memory in use never exceeds old
   * and new by more than a layer.
   *
   * @param reservedCapacity up to which capacity new slabs can grow in place; the room takes no memory before it is used
   */
  reshape(slotCapacity: number, capacity: number, reservedCapacity = capacity): void {
    if (slotCapacity === this.#slotCapacity && capacity === this.#capacity) return;
    assert(slotCapacity >= this.usedCount, "a slab keeps its used slots");
    assert(
      this.lengths.every((length) => length <= capacity),
      "a slab keeps its positions",
    );
    const { layerCount, kvHeadCount, headSize } = this.shape;
    const positionSize = kvHeadCount * headSize;
    const grows = slotCapacity >= this.#slotCapacity && capacity >= this.#capacity;
    const resize = (old: Float32Array | undefined): Float32Array => {
      const staysInPlace = grows && old !== undefined && old.length >= slotCapacity * capacity * positionSize;
      const slab = staysInPlace
        ? old
        : new Float32Array(slotCapacity * Math.max(capacity, reservedCapacity) * positionSize);
      if (old !== undefined && (slab !== old || capacity !== this.#capacity))
        this.#spread(old, slab, capacity);
      return slab;
    };
    for (let layer = 0; layer < layerCount; layer++) {
      this.#keys[layer] = resize(this.#keys[layer]);
      this.#values[layer] = resize(this.#values[layer]);
    }
    this.#slotCapacity = slotCapacity;
    this.#capacity = capacity;
  }

  /** Moves what the used slots hold to where it lies at another capacity, the last first: both may be the same slab. */
  #spread(from: Float32Array, to: Float32Array, capacity: number): void {
    const { kvHeadCount, headSize } = this.shape;
    for (let slot = this.usedCount - 1; slot >= 0; slot--) {
      const size = this.lengths[slot] * headSize;
      for (let head = (slot + 1) * kvHeadCount - 1; head >= slot * kvHeadCount; head--) {
        const start = head * this.#capacity * headSize;
        const target = head * capacity * headSize;
        if (from === to) to.copyWithin(target, start, start + size);
        else to.set(from.subarray(start, start + size), target);
      }
    }
  }

  #view(slab: Float32Array, slot: number, slotCount: number): Float32Array {
    const slotStride = this.shape.kvHeadCount * this.#capacity * this.shape.headSize;
    return slab.subarray(slot * slotStride, (slot + slotCount) * slotStride);
  }
}

/** Short runs go faster without the view that `set` needs. */
function copyRun(source: Float32Array, from: number, target: Float32Array, to: number, size: number): void {
  if (size > 256) {
    target.set(source.subarray(from, from + size), to);
    return;
  }
  for (let index = 0; index < size; index++) target[to + index] = source[from + index];
}

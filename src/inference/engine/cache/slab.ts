// A slab: one block of memory for the keys and values of several slots, with the same capacity in positions. Each layer
// is [slot, kv head, capacity, head size], so that consecutive slots are a view that a graph takes without a copy. A
// slab does not know how much of a slot is filled.
import { assert } from "../../../base/domain/assert.ts";
import type { ModelShape } from "../model-shape.ts";

/** Returns the number of float values that one position takes: its keys and values in all layers. */
export function positionValues({ caches }: Pick<ModelShape, "caches">): number {
  return caches.reduce((sum, { kvHeadCount, headSize }) => sum + 2 * kvHeadCount * headSize, 0);
}

/** Returns the number of bytes that one position of a slot takes: its keys and values in all layers. */
export function positionBytes(shape: Pick<ModelShape, "caches">): number {
  return positionValues(shape) * Float32Array.BYTES_PER_ELEMENT;
}

/** Positions [position, position + count) of a slot. */
export interface SlotRange {
  readonly slot: number;
  readonly position: number;
  readonly count: number;
}

/**
 * Sizes in bytes of the system's large and small pages. The large parts of a slab start at large pages; otherwise, each
 * part would take up to one more such page.
 */
const [largePageBytes, smallPageBytes] = [2 ** 21, 2 ** 12];

export class Slab {
  /**
   * Number of positions of all slots together for which the slab has address space. Memory takes physical memory only
   * once it is written.
   */
  readonly positionRoom: number;
  /** Keys of each layer. */
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
  readonly #shape: ModelShape;
  #capacity: number;
  #writtenCount = 0;

  /** @throws RangeError if the system refuses this much address space */
  constructor(shape: ModelShape, positionRoom: number, capacity: number) {
    this.#shape = shape;
    this.positionRoom = positionRoom;
    this.#capacity = capacity;
    // One allocation holds all layers. The C library requests such a large block from the system, which returns it
    // already zeroed. A smaller block might be reused memory, and clearing it would touch the whole slab at once.
    const sizes = shape.caches.flatMap(({ kvHeadCount, headSize }) => {
      const size = positionRoom * kvHeadCount * headSize;
      return [size, size];
    });
    const isLarge = Math.min(...sizes) * Float32Array.BYTES_PER_ELEMENT >= largePageBytes;
    let end = 0;
    const starts = sizes.map((size) => {
      const start = isLarge ? Math.ceil(end / largePageBytes) * largePageBytes : end;
      end = start + size * Float32Array.BYTES_PER_ELEMENT;
      return start;
    });
    // Linux aligns a block to large pages if it is a whole number of them, with the header of the C library included.
    const paddedEnd = Math.ceil((end + smallPageBytes) / largePageBytes) * largePageBytes - smallPageBytes;
    const memory = new ArrayBuffer(isLarge ? paddedEnd : end);
    const arrays = starts.map((start, part) => new Float32Array(memory, start, sizes[part]));
    this.keys = arrays.filter((_, part) => part % 2 === 0);
    this.values = arrays.filter((_, part) => part % 2 === 1);
  }

  /** Number of positions for which each slot has room. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Number of slots that fit with the present capacity. */
  get slotRoom(): number {
    return this.#capacity === 0 ? 0 : Math.floor(this.positionRoom / this.#capacity);
  }

  /** Number of positions of all slots together that may take physical memory. */
  get writtenCount(): number {
    return this.#writtenCount;
  }

  get writtenBytes(): number {
    return this.#writtenCount * positionBytes(this.#shape);
  }

  /** Counts the memory of the first slots as written. */
  noteSlots(slotCount: number): void {
    this.#writtenCount = Math.max(this.#writtenCount, slotCount * this.#capacity);
  }

  /** Returns the index of a slot's head in the keys or values of a layer. */
  start(layer: number, slot: number, head: number): number {
    const { kvHeadCount, headSize } = this.#shape.caches[layer];
    return (slot * kvHeadCount + head) * this.#capacity * headSize;
  }

  /**
   * Changes the capacity within the same memory, by moving the contents of every slot. This takes about as long as a
   * step, because a step reads the same contents.
   *
   * @param lengths for each used slot, the number of positions to keep
   */
  setCapacity(capacity: number, lengths: readonly number[]): void {
    assert(lengths.length * capacity <= this.positionRoom, "the used slots fit into the slab");
    for (const [layer, { kvHeadCount, headSize }] of this.#shape.caches.entries()) {
      const runs = lengths.flatMap((length, slot) =>
        Array.from({ length: kvHeadCount }, (_, head) => ({
          from: this.start(layer, slot, head),
          to: (slot * kvHeadCount + head) * capacity * headSize,
          size: length * headSize,
        })),
      );
      // In this order, no run overwrites another one that has not been moved yet.
      if (capacity > this.#capacity) runs.reverse();
      for (const values of [this.keys[layer], this.values[layer]])
        for (const { from, to, size } of runs) values.copyWithin(to, from, from + size);
    }
    this.#capacity = capacity;
    this.noteSlots(lengths.length);
  }

  /** Sets all written values to 0, as in a new slab. The memory stays allocated. */
  clear(): void {
    for (const [layer, { kvHeadCount, headSize }] of this.#shape.caches.entries()) {
      const size = this.#writtenCount * kvHeadCount * headSize;
      this.keys[layer].fill(0, 0, size);
      this.values[layer].fill(0, 0, size);
    }
  }

  /** Copies positions to a slot of another slab or of this one; by default, to the slot with the same number. */
  copyTo(target: Slab, { slot, position, count }: SlotRange, targetSlot = slot): void {
    for (const [layer, { kvHeadCount, headSize }] of this.#shape.caches.entries()) {
      const [first, size] = [position * headSize, count * headSize];
      for (let head = 0; head < kvHeadCount; head++) {
        const from = this.start(layer, slot, head) + first;
        const to = target.start(layer, targetSlot, head) + first;
        copyRun(this.keys[layer], from, target.keys[layer], to, size);
        copyRun(this.values[layer], from, target.values[layer], to, size);
      }
    }
  }

  /** Exchanges the first positions of two slots. */
  swap(a: number, b: number, count: number): void {
    for (const [layer, { kvHeadCount, headSize }] of this.#shape.caches.entries()) {
      const first = new Float32Array(count * headSize);
      for (const values of [this.keys[layer], this.values[layer]]) {
        for (let head = 0; head < kvHeadCount; head++) {
          const [ofA, ofB] = [this.start(layer, a, head), this.start(layer, b, head)];
          first.set(values.subarray(ofA, ofA + first.length));
          values.copyWithin(ofA, ofB, ofB + first.length);
          values.set(first, ofB);
        }
      }
    }
  }
}

/**
 * Copies a run of values between arrays; the two runs must not overlap. For short runs a loop is faster than `set`,
 * which needs a view.
 */
export function copyRun(
  source: Float32Array,
  from: number,
  target: Float32Array,
  to: number,
  size: number,
): void {
  if (size > 256) {
    target.set(source.subarray(from, from + size), to);
    return;
  }
  for (let index = 0; index < size; index++) target[to + index] = source[from + index];
}

// A slab: one block of memory for the keys and values of several slots, with the same capacity in positions. Each layer
// is [slot, kv head, capacity, head size], so that consecutive slots are a view that a graph takes without a copy. A
// slab does not know how much of a slot is filled.
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

export class Slab {
  /** Number of slots that fit. A slot takes physical memory only once it is written. */
  readonly slotRoom: number;
  /** Number of positions for which each slot has room. */
  readonly capacity: number;
  /** Index of the last written slot plus 1. The slots before this index take physical memory. */
  writtenSlotCount = 0;
  /** Keys of each layer. */
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
  readonly #shape: ModelShape;

  constructor(shape: ModelShape, slotRoom: number, capacity: number) {
    this.#shape = shape;
    this.slotRoom = slotRoom;
    this.capacity = capacity;
    // One allocation holds all layers. The C library requests such a large block from the system, which returns it
    // already zeroed. A smaller block might be reused memory, and clearing it would touch the whole slab at once.
    const memory = new ArrayBuffer(slotRoom * capacity * positionBytes(shape));
    let end = 0;
    const part = (layer: number): Float32Array => {
      const values = new Float32Array(memory, end, this.start(layer, slotRoom, 0));
      end += values.byteLength;
      return values;
    };
    const layers = shape.caches.map((_, layer) => ({ keys: part(layer), values: part(layer) }));
    this.keys = layers.map(({ keys }) => keys);
    this.values = layers.map(({ values }) => values);
  }

  /** Returns the index of a slot's head in the keys or values of a layer. */
  start(layer: number, slot: number, head: number): number {
    const { kvHeadCount, headSize } = this.#shape.caches[layer];
    return (slot * kvHeadCount + head) * this.capacity * headSize;
  }

  get writtenBytes(): number {
    return this.writtenSlotCount * this.capacity * positionBytes(this.#shape);
  }

  /** Sets all written values to 0, as in a new slab. The memory stays allocated. */
  clear(): void {
    for (const [layer, keys] of this.keys.entries()) {
      const size = this.start(layer, this.writtenSlotCount, 0);
      keys.fill(0, 0, size);
      this.values[layer].fill(0, 0, size);
    }
  }

  /** Number of parts: each layer has one for its keys and one for its values. */
  get partCount(): number {
    return 2 * this.#shape.caches.length;
  }

  /** Copies positions to a slot of another slab or of this one; by default, to the slot with the same number. */
  copyTo(target: Slab, range: SlotRange, targetSlot = range.slot): void {
    for (let part = 0; part < this.partCount; part++) this.copyPartTo(target, part, range, targetSlot);
  }

  /**
   * Like {@link Slab.copyTo}, but only for the keys or the values of one layer.
   *
   * @param part index of these keys or values, below `partCount`
   * @returns number of copied bytes
   */
  copyPartTo(target: Slab, part: number, { slot, position, count }: SlotRange, targetSlot = slot): number {
    const kind = part % 2 === 0 ? "keys" : "values";
    const layer = Math.floor(part / 2);
    const { kvHeadCount, headSize } = this.#shape.caches[layer];
    const [from, to] = [this[kind][layer], target[kind][layer]];
    const [first, size] = [position * headSize, count * headSize];
    for (let head = 0; head < kvHeadCount; head++)
      copyRun(
        from,
        this.start(layer, slot, head) + first,
        to,
        target.start(layer, targetSlot, head) + first,
        size,
      );
    return kvHeadCount * size * Float32Array.BYTES_PER_ELEMENT;
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

// Spare slabs: the memory blocks of closed or resized lanes, kept for later lanes. Touching new memory takes longer
// than copying into it, and requests often come in bursts.

interface Spare {
  readonly slab: Slab;
  /** Key of the model or adapter that computed the values in the slab. */
  readonly owner: string;
}

export class SpareSlabs {
  readonly #bytesMax: number;
  /** Spare slabs, the newest last. */
  #spares: Spare[] = [];
  #droppedBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Total size of the written memory of spare slabs, in bytes. */
  get bytes(): number {
    return this.#spares.reduce((sum, { slab }) => sum + slab.writtenBytes, 0);
  }

  /** Adds a slab that its lane no longer uses. */
  give(slab: Slab, owner: string): void {
    if (slab.writtenSlotCount === 0) return;
    this.#spares.push({ slab, owner });
    this.limit(this.#bytesMax);
  }

  /**
   * Returns a spare slab of this size, or null if there is none. The slab never contains another owner's values: a step
   * multiplies the values after a row's end by zero, which does not cancel the NaN or infinity of a broken model.
   */
  take(slotRoom: number, capacity: number, owner: string): Slab | null {
    const fits = ({ slab }: Spare): boolean => slab.slotRoom === slotRoom && slab.capacity === capacity;
    const own = this.#spares.findLastIndex((spare) => fits(spare) && spare.owner === owner);
    const index = own < 0 ? this.#spares.findLastIndex(fits) : own;
    if (index < 0) return null;
    const [{ slab }] = this.#spares.splice(index, 1);
    if (own < 0) slab.clear();
    return slab;
  }

  /**
   * Returns how many slots the smallest suitable spare slab holds, or null if there is none. Suitable slabs have room
   * for `slots` slots and exactly this capacity.
   */
  slotRoom(slots: number, capacity: number): number | null {
    const rooms = this.#spares
      .filter(({ slab }) => slab.slotRoom >= slots && slab.capacity === capacity)
      .map(({ slab }) => slab.slotRoom);
    return rooms.length === 0 ? null : Math.min(...rooms);
  }

  /** Drops the oldest spare slabs until the remaining ones take at most `bytesMax`. */
  limit(bytesMax: number): void {
    while (this.#spares.length > 0 && this.bytes > bytesMax) this.drop(this.#spares.splice(0, 1)[0].slab);
  }

  /** Counts a slab that nobody uses any more. Its memory stays allocated until V8 collects garbage. */
  drop(slab: Slab): void {
    this.#droppedBytes += slab.writtenBytes;
  }

  /** Returns the written memory of the slabs that were dropped since the last call, in bytes. */
  takeDroppedBytes(): number {
    const bytes = this.#droppedBytes;
    this.#droppedBytes = 0;
    return bytes;
  }
}

// Memory for the keys and values of some slots at one capacity. Each layer is [slot, kv head, capacity, head size], so
// that consecutive slots are a view that a graph takes without a copy. A slab does not know how much of a slot is
// filled.
import type { ModelShape } from "../model-shape.ts";

/** Returns the bytes of the keys and values of one position of one slot, over all layers. */
export function positionBytes(shape: Pick<ModelShape, "layerCount" | "kvHeadCount" | "headSize">): number {
  return shape.layerCount * 2 * shape.kvHeadCount * shape.headSize * Float32Array.BYTES_PER_ELEMENT;
}

/** Positions [position, position + count) of a slot. */
export interface SlotRange {
  readonly slot: number;
  readonly position: number;
  readonly count: number;
}

export class Slab {
  /** Number of slots that fit. A slot's room takes physical memory only once it is written. */
  readonly slotRoom: number;
  /** Number of positions that a slot has room for. */
  readonly capacity: number;
  /** Number of first slots that include all written slots; their room takes memory. */
  writtenSlotCount = 0;
  /** Keys of each layer. */
  readonly keys: readonly Float32Array[];
  readonly values: readonly Float32Array[];
  readonly #shape: ModelShape;

  constructor(shape: ModelShape, slotRoom: number, capacity: number) {
    const { layerCount, kvHeadCount, headSize } = shape;
    this.#shape = shape;
    this.slotRoom = slotRoom;
    this.capacity = capacity;
    const size = slotRoom * kvHeadCount * capacity * headSize;
    // One allocation for all layers: the C library maps large allocations afresh, but clears smaller ones that it
    // reuses, which would write to all of the room.
    const sizeBytes = size * Float32Array.BYTES_PER_ELEMENT;
    const memory = new ArrayBuffer(2 * layerCount * sizeBytes);
    const part = (index: number): Float32Array => new Float32Array(memory, index * sizeBytes, size);
    this.keys = Array.from({ length: layerCount }, (_, layer) => part(2 * layer));
    this.values = Array.from({ length: layerCount }, (_, layer) => part(2 * layer + 1));
  }

  /** Returns the offset of a slot's head in a layer's keys or values. */
  start(slot: number, head: number): number {
    const { kvHeadCount, headSize } = this.#shape;
    return (slot * kvHeadCount + head) * this.capacity * headSize;
  }

  get writtenBytes(): number {
    return this.writtenSlotCount * this.capacity * positionBytes(this.#shape);
  }

  /** Sets every number to 0, as in a new slab; written memory stays allocated. */
  clear(): void {
    const size = this.start(this.writtenSlotCount, 0);
    for (const part of [...this.keys, ...this.values]) part.fill(0, 0, size);
  }

  /** Number of parts: each layer has one for its keys and one for its values. */
  get partCount(): number {
    return 2 * this.#shape.layerCount;
  }

  /** Copies positions to the same slot, or to the given slot, of another slab or this one. */
  copyTo(target: Slab, range: SlotRange, targetSlot = range.slot): void {
    for (let part = 0; part < this.partCount; part++) this.copyPartTo(target, part, range, targetSlot);
  }

  /**
   * Like {@link Slab.copyTo}, for only the keys or the values of one layer.
   *
   * @param part below `partCount`
   * @returns copied bytes
   */
  copyPartTo(target: Slab, part: number, { slot, position, count }: SlotRange, targetSlot = slot): number {
    const { kvHeadCount, headSize } = this.#shape;
    const kind = part % 2 === 0 ? "keys" : "values";
    const layer = Math.floor(part / 2);
    const [from, to] = [this[kind][layer], target[kind][layer]];
    const [first, size] = [position * headSize, count * headSize];
    for (let head = 0; head < kvHeadCount; head++)
      copyRun(from, this.start(slot, head) + first, to, target.start(targetSlot, head) + first, size);
    return kvHeadCount * size * Float32Array.BYTES_PER_ELEMENT;
  }
}

/** Copies numbers between runs that do not overlap. For short runs a loop is faster than `set`, which needs a view. */
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

// Slabs of earlier lanes, kept for later lanes, the newest first: touching new memory costs more than all copying into
// it, and bursts of requests follow each other.

interface Spare {
  readonly slab: Slab;
  /** Owner of the numbers in the slab. */
  readonly owner: string;
}

export class SpareSlabs {
  readonly #bytesMax: number;
  /** Spare slabs, the newest last. */
  #spares: Spare[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Total size of the written parts of spare slabs, in bytes. */
  get bytes(): number {
    return this.#spares.reduce((sum, { slab }) => sum + slab.writtenBytes, 0);
  }

  /** Stores a slab that its owner no longer uses. */
  give(slab: Slab, owner: string): void {
    if (slab.writtenSlotCount === 0) return;
    this.#spares.push({ slab, owner });
    this.limit(this.#bytesMax);
  }

  /**
   * Returns a slab of this size, or null. It never contains another owner's numbers: a step multiplies the values
   * after a row's end by zero, which does not cancel the NaN or infinity of a broken model.
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

  /** Returns the smallest slot room, at least `slots`, of a spare slab with this capacity; null if there is none. */
  slotRoom(slots: number, capacity: number): number | null {
    const rooms = this.#spares
      .filter(({ slab }) => slab.slotRoom >= slots && slab.capacity === capacity)
      .map(({ slab }) => slab.slotRoom);
    return rooms.length === 0 ? null : Math.min(...rooms);
  }

  /** Drops the oldest slabs until the remaining ones fit this size. */
  limit(bytesMax: number): void {
    while (this.#spares.length > 0 && this.bytes > bytesMax) this.#spares.shift();
  }
}

// Slabs that lanes have left, for lanes that come: memory that is new costs the machine several times what clearing used
// memory does, and bursts of requests follow each other. Some megabytes at most, the newest.
import type { Slab } from "./slab.ts";

export class SpareSlabs {
  readonly #bytesMax: number;
  /** The newest last. */
  #slabs: Slab[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** What has been written of them. */
  get bytes(): number {
    return this.#slabs.reduce((sum, { writtenBytes }) => sum + writtenBytes, 0);
  }

  /** Keeps a slab that nobody uses any more, where it is small enough. */
  give(slab: Slab): void {
    if (slab.writtenSlotCount === 0 || slab.writtenBytes > this.#bytesMax) return;
    slab.clear();
    this.#slabs.push(slab);
    this.limit(this.#bytesMax);
  }

  /** A slab of this size that is as new; null where there is none. */
  take(slotRoom: number, capacity: number): Slab | null {
    const index = this.#slabs.findLastIndex(
      (slab) => slab.slotRoom === slotRoom && slab.capacity === capacity,
    );
    return index < 0 ? null : this.#slabs.splice(index, 1)[0];
  }

  /** The least room for at least so many slots that a slab of a capacity has; null where none does. */
  slotRoom(slots: number, capacity: number): number | null {
    const fitting = this.#slabs.filter((slab) => slab.slotRoom >= slots && slab.capacity === capacity);
    return fitting.length === 0 ? null : Math.min(...fitting.map(({ slotRoom }) => slotRoom));
  }

  /** Lets the oldest go until the others take no more than this. */
  limit(bytesMax: number): void {
    while (this.#slabs.length > 0 && this.bytes > bytesMax) this.#slabs.shift();
  }
}

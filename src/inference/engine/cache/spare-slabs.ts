// Slabs that lanes have left, for lanes that come: memory that is new costs the machine more than all copying into it, and
// bursts of requests follow each other. The newest are kept.
import type { Slab } from "./slab.ts";

interface Spare {
  readonly slab: Slab;
  /** Whose numbers are in it. */
  readonly owner: string;
}

export class SpareSlabs {
  readonly #bytesMax: number;
  /** The newest last. */
  #spares: Spare[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** What has been written of them. */
  get bytes(): number {
    return this.#spares.reduce((sum, { slab }) => sum + slab.writtenBytes, 0);
  }

  /** Keeps a slab that its owner does not use any more. */
  give(slab: Slab, owner: string): void {
    if (slab.writtenSlotCount === 0) return;
    this.#spares.push({ slab, owner });
    this.limit(this.#bytesMax);
  }

  /**
   * A slab of this size; null where there is none. Nothing in it is another owner's: a step multiplies what lies behind a
   * row's end by zero, which takes away any number but those of a broken model.
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

  /** The least room for at least so many slots that a slab of a capacity has; null where none does. */
  slotRoom(slots: number, capacity: number): number | null {
    const rooms = this.#spares
      .filter(({ slab }) => slab.slotRoom >= slots && slab.capacity === capacity)
      .map(({ slab }) => slab.slotRoom);
    return rooms.length === 0 ? null : Math.min(...rooms);
  }

  /** Lets the oldest go until the others take no more than this. */
  limit(bytesMax: number): void {
    while (this.#spares.length > 0 && this.bytes > bytesMax) this.#spares.shift();
  }
}

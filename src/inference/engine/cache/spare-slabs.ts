// Spare slabs: the memory blocks of closed or outgrown lanes, kept for later lanes. Touching new memory takes longer
// than copying into it, and requests often come in bursts.
import type { Slab } from "./slab.ts";

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
    if (slab.writtenCount === 0) return;
    this.#spares.push({ slab, owner });
    this.limit(this.#bytesMax);
  }

  /**
   * Returns the newest suitable spare slab, or null if there is none. The slab never contains another owner's values: a
   * step multiplies the values after a row's end by zero, which does not cancel the NaN or infinity of a broken model.
   *
   * @param positionCount number of positions of all slots together for which the slab must have room
   * @param writtenCountMax maximum number of its positions that may take physical memory
   */
  take(positionCount: number, writtenCountMax: number, owner: string): Slab | null {
    const fits = ({ slab }: Spare): boolean =>
      slab.positionRoom >= positionCount && slab.writtenCount <= writtenCountMax;
    const own = this.#spares.findLastIndex((spare) => fits(spare) && spare.owner === owner);
    const index = own < 0 ? this.#spares.findLastIndex(fits) : own;
    if (index < 0) return null;
    const [{ slab }] = this.#spares.splice(index, 1);
    if (own < 0) slab.clear();
    return slab;
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

// Fair shares: what each owner holds of the engine, and who starts next. The order is by priority, then by the owner
// who holds least, then first come, first served.
import type { SlotHolder, StepBudget } from "./slot-holder.ts";

type ShareBudget = Pick<StepBudget, "slotCountMax" | "kvCacheBytesMax" | "bytesPerPosition">;

/**
 * Each owner's share of the slots or of the memory, whichever is larger (dominant resource fairness, Ghodsi et al.
 * 2011).
 */
export class Shares {
  readonly #budget: ShareBudget;
  readonly #byOwner = new Map<string, number>();

  constructor(holders: readonly SlotHolder[], budget: ShareBudget) {
    this.#budget = budget;
    for (const holder of holders) this.add(holder);
  }

  /** Returns an owner's share, as a fraction of the whole. */
  of(owner: string): number {
    return this.#byOwner.get(owner) ?? 0;
  }

  /** Returns the share that one holder adds to its owner's. */
  by({ slotCount, positionCountMax }: SlotHolder): number {
    const { slotCountMax, kvCacheBytesMax, bytesPerPosition } = this.#budget;
    return slotCount * Math.max(1 / slotCountMax, (positionCountMax * bytesPerPosition) / kvCacheBytesMax);
  }

  add(holder: SlotHolder): void {
    this.#byOwner.set(holder.owner, this.of(holder.owner) + this.by(holder));
  }

  remove(holder: SlotHolder): void {
    const left = this.of(holder.owner) - this.by(holder);
    if (left === 0) this.#byOwner.delete(holder.owner);
    else this.#byOwner.set(holder.owner, left);
  }

  /**
   * True if one may replace the other of the same priority: the other's owner must still hold at least as much
   * afterwards. So places are never taken back, and no owner is left with less than the newcomer.
   */
  mayReplace(one: SlotHolder, other: SlotHolder): boolean {
    if (one.owner === other.owner) return false;
    return this.of(other.owner) - this.by(other) >= this.of(one.owner) + this.by(one);
  }
}

/**
 * Yields the waiting in the order in which they are to start, each chosen by the shares at that time.
 *
 * @param waiting by priority, then first come, first served
 */
export function* inStartOrder<Waiting extends SlotHolder>(
  waiting: readonly Waiting[],
  shares: Shares,
): Generator<Waiting, void> {
  const left = [...waiting];
  while (left.length > 0) {
    let next = 0;
    for (let index = 1; index < left.length && left[index].priority === left[0].priority; index++)
      if (shares.of(left[index].owner) < shares.of(left[next].owner)) next = index;
    yield* left.splice(next, 1);
  }
}

// Fair shares: the fraction of the engine that each owner of requests holds, and the order in which waiting requests
// start. The order is by priority, then the owner with the smallest share, then first come, first served.
import type { SlotBytes } from "../cache/kv-cache.ts";
import type { SlotHolder, StepBudget } from "./slot-holder.ts";

type ShareBudget = Pick<StepBudget, "slotCountMax" | "kvCacheBytesMax" | keyof SlotBytes>;

/**
 * Shares of owners. An owner's share is its fraction of the slots or of the memory, whichever is larger (dominant
 * resource fairness, Ghodsi et al. 2011).
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

  /** Returns how much a holder (a request that holds slots) adds to the share of its owner. */
  by({ slotCount, positionCountMax }: SlotHolder): number {
    const { slotCountMax, kvCacheBytesMax, bytesPerPosition, bytesPerSlot } = this.#budget;
    const bytes = positionCountMax * bytesPerPosition + bytesPerSlot;
    return slotCount * Math.max(1 / slotCountMax, bytes / kvCacheBytesMax);
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
   * True if `one` may preempt `other`, which has the same priority. After the preemption, the owner of `other` must
   * still hold at least as much as the owner of `one`. So owners cannot preempt each other in turn, and no owner ends
   * up with less than the newcomer.
   */
  mayReplace(one: SlotHolder, other: SlotHolder): boolean {
    if (one.owner === other.owner) return false;
    return this.of(other.owner) - this.by(other) >= this.of(one.owner) + this.by(one);
  }
}

/**
 * Yields waiting holders in the order in which they will start. Each holder is chosen by the shares that owners have
 * once all earlier holders have started.
 *
 * @param waiting holders by priority, then first come, first served
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

// The scheduler decides which requests hold slots next ("holders"); `plan-calls` then plans each step. The order is by
// priority, then the owner with the smallest share, then first come, first served; no holder overtakes the one whose
// turn it is. A running holder keeps its slots until it finishes, unless a holder with a better priority, or of an
// owner with a smaller share, preempts it.
import { laneBytes, type SlotBytes } from "../cache/kv-cache.ts";
import { positionGranule } from "../cache/kv-lane.ts";
import { inStartOrder, Shares } from "./fair-shares.ts";
import { compareRanks, type LaneLoad, type SlotHolder, type StepBudget } from "./slot-holder.ts";

/**
 * Admits waiting prompts in order. Stops at the first prompt whose whole need cannot be reserved in addition to the
 * running holders.
 *
 * @param waiting prompts in the order of {@link compareRanks}
 * @param held.lanes reservations of the running holders
 * @param held.running all holders of slots, which determine the owners' shares
 */
export function planAdmissions<Prompt extends SlotHolder>(
  waiting: readonly Prompt[],
  { lanes, running }: { readonly lanes: readonly LaneLoad[]; readonly running: readonly SlotHolder[] },
  budget: StepBudget,
): readonly Prompt[] {
  if (waiting.length === 0) return [];
  const reservation = new Reservation(budget);
  for (const lane of lanes) reservation.add(lane);
  const admitted: Prompt[] = [];
  const shares = new Shares(running, budget);
  for (const prompt of inStartOrder(waiting, shares)) {
    reservation.add(prompt);
    if (!reservation.fits) break;
    admitted.push(prompt);
    shares.add(prompt);
  }
  return admitted;
}

/**
 * Chooses holders to preempt, so that waiting prompts of better priority, or of owners with smaller shares, can start.
 * For each prompt, in the order in which they will start, chooses as few holders as possible, from the lowest rank up.
 * Stops at the first prompt for which preempting every permitted holder would not make enough room.
 *
 * @param waiting prompts in the order of {@link compareRanks}
 * @param running all holders of slots, in any order
 */
export function choosePreempted<Holder extends SlotHolder>(
  waiting: readonly SlotHolder[],
  running: readonly Holder[],
  budget: StepBudget,
): readonly Holder[] {
  const preempted = new Set<SlotHolder>();
  const shares = new Shares(running, budget);
  let held: readonly SlotHolder[] = running;
  for (const prompt of inStartOrder(waiting, shares)) {
    if (!fits([...held, prompt], budget)) {
      const preemptible = running.filter((holder) => !preempted.has(holder));
      const chosen = choosePreemptedFor(prompt, { held, preemptible }, budget);
      if (chosen === null) break;
      for (const holder of chosen) {
        preempted.add(holder);
        shares.remove(holder);
      }
      held = held.filter((holder) => !chosen.has(holder));
    }
    held = [...held, prompt];
    shares.add(prompt);
  }
  return running.filter((holder) => preempted.has(holder));
}

/**
 * Returns the holders to preempt for a prompt. Returns null if the prompt would not fit even after preempting all
 * holders that it may preempt.
 */
function choosePreemptedFor(
  prompt: SlotHolder,
  {
    held,
    preemptible,
  }: { readonly held: readonly SlotHolder[]; readonly preemptible: readonly SlotHolder[] },
  budget: StepBudget,
): ReadonlySet<SlotHolder> | null {
  const lastFirst = preemptible.toSorted((one, other) => compareRanks(other, one));
  const together = chooseEnough(lastFirst, prompt, held, budget);
  if (together !== null) return together;
  // Tries single holders. The attempt above may fail although one large holder would suffice: preempting a small holder
  // of the same owner uses up what may be taken from that owner.
  for (const holder of lastFirst) {
    const alone = chooseEnough([holder], prompt, held, budget);
    if (alone !== null) return alone;
  }
  return null;
}

/**
 * Returns holders whose preemption is allowed and makes the prompt fit, chosen in the given order; null if the prompt
 * would still not fit.
 */
function chooseEnough(
  holders: readonly SlotHolder[],
  prompt: SlotHolder,
  held: readonly SlotHolder[],
  budget: StepBudget,
): ReadonlySet<SlotHolder> | null {
  const chosen = new Set<SlotHolder>();
  const shares = new Shares(held, budget);
  const isEnough = (): boolean => fits([...held.filter((holder) => !chosen.has(holder)), prompt], budget);
  for (const holder of holders) {
    if (!mayPreempt(holder, prompt, shares)) continue;
    chosen.add(holder);
    shares.remove(holder);
    if (isEnough()) break;
  }
  if (chosen.size === 0 || !isEnough()) return null;
  // Removes holders whose preemption turned out to be unnecessary, because they would start again immediately.
  for (const holder of [...chosen].reverse()) {
    chosen.delete(holder);
    if (!isEnough()) chosen.add(holder);
  }
  return chosen;
}

function mayPreempt(holder: SlotHolder, prompt: SlotHolder, shares: Shares): boolean {
  if (holder.priority !== prompt.priority) return holder.priority > prompt.priority;
  return shares.mayReplace(prompt, holder);
}

function fits(holders: readonly SlotHolder[], budget: StepBudget): boolean {
  const reservation = new Reservation(budget);
  for (const holder of holders) reservation.add(holder);
  return reservation.fits;
}

/**
 * Returns how many choices of a request can run at the same time if no other request runs; 0 if the request can never
 * run.
 */
export function slotsThatFit(
  positionCountMax: number,
  budget: Pick<StepBudget, "slotCountMax" | "kvCacheBytesMax" | keyof SlotBytes>,
): number {
  let slots = budget.slotCountMax;
  while (slots > 0 && laneBytes(slots, positionCountMax, budget) > budget.kvCacheBytesMax) slots--;
  return slots;
}

/**
 * Returns the maximum number of positions that each of `slotCount` choices can hold if no other request runs; 0 if the
 * choices can never run together.
 */
export function positionsThatFit(
  slotCount: number,
  budget: Pick<StepBudget, "slotCountMax" | "kvCacheBytesMax" | keyof SlotBytes>,
): number {
  if (slotCount > budget.slotCountMax) return 0;
  const { bytesPerPosition, bytesPerSlot, kvCacheBytesMax } = budget;
  const bytesPerGranule = laneBytes(slotCount, positionGranule, { bytesPerPosition, bytesPerSlot: 0 });
  const bytes = kvCacheBytesMax - slotCount * bytesPerSlot;
  return Math.max(0, Math.floor(bytes / bytesPerGranule)) * positionGranule;
}

/** Slots and positions that a lane needs, either in total or in addition to those that it has. */
type LaneNeed = Pick<SlotHolder, "laneId" | "slotCount" | "positionCountMax">;

/** Sum of reserved slots and memory, compared with a budget. */
class Reservation {
  readonly #budget: StepBudget;
  readonly #lanes = new Map<string, LaneNeed>();
  #slots = 0;
  #bytes = 0;

  constructor(budget: StepBudget) {
    this.#budget = budget;
  }

  /** True if the reservations are within the budget. */
  get fits(): boolean {
    return this.#slots <= this.#budget.slotCountMax && this.#bytes <= this.#budget.kvCacheBytesMax;
  }

  add({ laneId, slotCount, positionCountMax }: LaneNeed): void {
    const old = this.#lanes.get(laneId) ?? { laneId, slotCount: 0, positionCountMax: 0 };
    const grown = {
      laneId,
      slotCount: old.slotCount + slotCount,
      positionCountMax: Math.max(old.positionCountMax, positionCountMax),
    };
    this.#lanes.set(laneId, grown);
    this.#slots += slotCount;
    this.#bytes += this.#bytesOf(grown) - this.#bytesOf(old);
  }

  #bytesOf({ slotCount, positionCountMax }: LaneNeed): number {
    return slotCount === 0 ? 0 : laneBytes(slotCount, positionCountMax, this.#budget);
  }
}

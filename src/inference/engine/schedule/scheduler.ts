// Decides what runs: a pure function of what waits, what runs, and the budget. What a step then computes of it is planned
// in plan-calls.
// By priority, then of the owner who holds least, then first come, first served: nothing overtakes the one whose turn it is.
// Running rows always go on unless they make room for a prompt of better priority, or for one of an owner who holds less.
import { laneBytes } from "../cache/kv-cache.ts";
import { positionGranule } from "../cache/kv-lane.ts";
import { inStartOrder, Shares } from "./fair-shares.ts";
import { compareRanks, type LaneLoad, type SlotHolder, type StepBudget } from "./slot-holder.ts";

/**
 * What starts now: waiting prompts in their turns, up to the first whose whole need cannot be set aside beside what runs.
 *
 * @param waiting in the order of {@link compareRanks}
 * @param held.lanes what is set aside for what runs
 * @param held.running everything that holds slots, by which turns go
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
 * What must stop running, so that waiting prompts of better priority can start, and those of owners who hold less: of what may
 * be stopped the last ones of the worst priority first, as few as make room for the prompt whose turn it is, and so on for the
 * next. None where that would not make room.
 *
 * @param waiting in the order of {@link compareRanks}
 * @param running everything that holds slots, in any order
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
      const stoppable = running.filter((holder) => !preempted.has(holder));
      const chosen = roomFor(prompt, { held, stoppable }, budget);
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

/** The holders without which the prompt fits beside the others; null where it does not even without all that may be stopped. */
function roomFor(
  prompt: SlotHolder,
  { held, stoppable }: { readonly held: readonly SlotHolder[]; readonly stoppable: readonly SlotHolder[] },
  budget: StepBudget,
): ReadonlySet<SlotHolder> | null {
  const lastFirst = stoppable.toSorted((one, other) => compareRanks(other, one));
  const together = enoughOf(lastFirst, prompt, held, budget);
  if (together !== null) return together;
  // A large one may stop where a small one of the same owner, which is not enough, takes from what that owner may give.
  for (const holder of lastFirst) {
    const alone = enoughOf([holder], prompt, held, budget);
    if (alone !== null) return alone;
  }
  return null;
}

/** Of some holders, in their order, those that may stop for the prompt and without which it fits; null where it does not. */
function enoughOf(
  holders: readonly SlotHolder[],
  prompt: SlotHolder,
  held: readonly SlotHolder[],
  budget: StepBudget,
): ReadonlySet<SlotHolder> | null {
  const chosen = new Set<SlotHolder>();
  const shares = new Shares(held, budget);
  const isEnough = (): boolean => fits([...held.filter((holder) => !chosen.has(holder)), prompt], budget);
  for (const holder of holders) {
    if (!mayStop(holder, prompt, shares)) continue;
    chosen.add(holder);
    shares.remove(holder);
    if (isEnough()) break;
  }
  if (chosen.size === 0 || !isEnough()) return null;
  // Those whose leaving turned out to free nothing stay: they would come back at once.
  for (const holder of [...chosen].reverse()) {
    chosen.delete(holder);
    if (!isEnough()) chosen.add(holder);
  }
  return chosen;
}

function mayStop(holder: SlotHolder, prompt: SlotHolder, shares: Shares): boolean {
  if (holder.priority !== prompt.priority) return holder.priority > prompt.priority;
  return shares.mayReplace(prompt, holder);
}

function fits(holders: readonly SlotHolder[], budget: StepBudget): boolean {
  const reservation = new Reservation(budget);
  for (const holder of holders) reservation.add(holder);
  return reservation.fits;
}

/**
 * How many choices of a request can run at the same time when nothing else does; 0 when it can never run.
 */
export function slotsThatFit(
  positionCountMax: number,
  budget: Pick<StepBudget, "slotCountMax" | "kvCacheBytesMax" | "bytesPerPosition">,
): number {
  let slots = budget.slotCountMax;
  while (slots > 0 && laneBytes(slots, positionCountMax, budget.bytesPerPosition) > budget.kvCacheBytesMax)
    slots--;
  return slots;
}

/** The most positions that each of so many choices can hold when nothing else runs; 0 where as many can never run. */
export function positionsThatFit(
  slotCount: number,
  budget: Pick<StepBudget, "slotCountMax" | "kvCacheBytesMax" | "bytesPerPosition">,
): number {
  if (slotCount > budget.slotCountMax) return 0;
  const bytesPerGranule = laneBytes(slotCount, positionGranule, budget.bytesPerPosition);
  return Math.floor(budget.kvCacheBytesMax / bytesPerGranule) * positionGranule;
}

/** What a lane needs, or what is added to it. */
type LaneNeed = Pick<SlotHolder, "laneId" | "slotCount" | "positionCountMax">;

/** What is set aside of a budget's slots and memory. */
class Reservation {
  readonly #budget: StepBudget;
  readonly #lanes = new Map<string, LaneNeed>();
  #slots = 0;
  #bytes = 0;

  constructor(budget: StepBudget) {
    this.#budget = budget;
  }

  /** Whether the budget has all that is set aside. */
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
    return slotCount === 0 ? 0 : laneBytes(slotCount, positionCountMax, this.#budget.bytesPerPosition);
  }
}

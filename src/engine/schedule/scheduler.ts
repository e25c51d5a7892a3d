// Decides what runs: a pure function of what waits, what runs, and the budget. What a step then computes of it is planned
// in plan-calls.
// By priority, then first come, first served: nothing overtakes the first waiting prompt, running rows always go on
// unless they make room for a prompt of better priority.
import { laneBytes } from "../cache/kv-cache.ts";
import { positionGranule } from "../cache/kv-lane.ts";

/** The place of something that waits or runs among all others. */
export interface Ranked {
  /** Lower is earlier. */
  readonly priority: number;
  /** How much came before it. */
  readonly arrival: number;
}

/** What something that runs holds, or what something that waits will. */
export interface SlotHolder extends Ranked {
  /** Rows of different lanes cannot share a call. */
  readonly laneId: string;
  /** One for each choice. */
  readonly slotCount: number;
  /** Positions that each slot may come to hold. */
  readonly positionCountMax: number;
}

/** What a lane holds, with everything that was promised to admitted requests. */
export interface LaneLoad {
  readonly laneId: string;
  readonly slotCount: number;
  readonly positionCountMax: number;
  /** Rows that get a token in this step. */
  readonly decodingCount: number;
}

export interface StepBudget {
  readonly slotCountMax: number;
  readonly kvCacheBytesMax: number;
  readonly bytesPerPosition: number;
  readonly tokensPerStepMax: number;
  readonly promptChunkTokens: number;
  /** Of prompts whose log-probabilities are wanted: scores after every token take memory and time. */
  readonly logprobTokensPerStepMax: number;
}

/** Which of two comes first: negative for the first one. */
export function compareRanks(one: Ranked, other: Ranked): number {
  return one.priority - other.priority || one.arrival - other.arrival;
}

/**
 * What starts now: the longest run of waiting prompts, from the first, whose whole need can be set aside beside what runs.
 *
 * @param waiting in the order of {@link compareRanks}
 */
export function planAdmissions<Prompt extends SlotHolder>(
  waiting: readonly Prompt[],
  lanes: readonly LaneLoad[],
  budget: StepBudget,
): readonly Prompt[] {
  if (waiting.length === 0) return [];
  const reservation = new Reservation(budget);
  for (const lane of lanes) reservation.add(lane);
  const admitted: Prompt[] = [];
  for (const prompt of waiting) {
    reservation.add(prompt);
    if (!reservation.fits) break;
    admitted.push(prompt);
  }
  return admitted;
}

/**
 * What must stop running, so that waiting prompts of better priority can start: of those with worse priority the last
 * ones first, as few as make room for the first that waits, and so on for the next. None where that would not make room.
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
  let held: readonly SlotHolder[] = running;
  for (const prompt of waiting) {
    const worse = running.filter((holder) => holder.priority > prompt.priority && !preempted.has(holder));
    if (worse.length === 0) break;
    if (!fits([...held, prompt], budget)) {
      const chosen = roomFor(prompt, { held, worse }, budget);
      if (chosen === null) break;
      for (const holder of chosen) preempted.add(holder);
      held = held.filter((holder) => !chosen.has(holder));
    }
    held = [...held, prompt];
  }
  return running.filter((holder) => preempted.has(holder));
}

/** Of `worse`, the holders without which the prompt fits beside the others; null where it does not even without them all. */
function roomFor(
  prompt: SlotHolder,
  { held, worse }: { readonly held: readonly SlotHolder[]; readonly worse: readonly SlotHolder[] },
  budget: StepBudget,
): ReadonlySet<SlotHolder> | null {
  const chosen = new Set<SlotHolder>();
  const isEnough = (): boolean => fits([...held.filter((holder) => !chosen.has(holder)), prompt], budget);
  for (const holder of worse.toSorted((one, other) => compareRanks(other, one))) {
    chosen.add(holder);
    if (isEnough()) break;
  }
  if (!isEnough()) return null;
  // Those whose leaving turned out to free nothing stay: they would come back at once.
  for (const holder of [...chosen].reverse()) {
    chosen.delete(holder);
    if (!isEnough()) chosen.add(holder);
  }
  return chosen;
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

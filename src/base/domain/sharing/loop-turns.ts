// Turns by client: a line for a worker, and turns of the event loop by tenant. Work in many pieces takes one turn of
// the loop for each, so a tenant with a hundred requests delays another tenant's request by one turn of each, and
// timers, connections and /health run in between. A turn is not preempted: its work must be short.
import { type Clock, systemClock } from "../clock.ts";

/**
 * Clients take turns; each client's own items run in order of arrival, so a client's many items delay only each other.
 */
export class WaitingLine<Item> {
  /** The client whose turn is next comes first; no list is empty. */
  readonly #itemsOf = new Map<string, Item[]>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(client: string, item: Item): void {
    const items = this.#itemsOf.get(client);
    if (items === undefined) this.#itemsOf.set(client, [item]);
    else items.push(item);
    this.#length += 1;
  }

  /** Removes and returns the next item. Its client's next turn comes after every other client's. */
  takeNext(): Item | undefined {
    for (const [client, items] of this.#itemsOf) {
      this.#itemsOf.delete(client);
      const item = items.shift();
      if (items.length > 0) this.#itemsOf.set(client, items);
      this.#length -= 1;
      return item;
    }
    return undefined;
  }

  /** Removes an item that no longer waits; does nothing if it is not in the line. */
  remove(client: string, item: Item): void {
    const items = this.#itemsOf.get(client) ?? [];
    const index = items.indexOf(item);
    if (index < 0) return;
    items.splice(index, 1);
    if (items.length === 0) this.#itemsOf.delete(client);
    this.#length -= 1;
  }
}

/** After turns of this total duration in one round, other work of the event loop runs. */
const roundMs = 2;
/** Maximum number of very short turns in a round. */
const roundTurnsMax = 4;
/** Maximum number of consecutive rounds without a turn. */
const skippedRoundsMax = 32;

/** One round of the event loop. */
interface Round {
  /** Number of scheduled calls that have not run yet. */
  pendingCount: number;
  /** Time of the first call; null before it. */
  startMs: number | null;
  isSkipped: boolean;
}

function newRound(): Round {
  return { pendingCount: 0, startMs: null, isSkipped: false };
}

export class LoopTurns {
  readonly #line = new WaitingLine<() => void>();
  readonly #schedule: (call: () => void) => void;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** The round that has not begun. */
  #next: Round = newRound();
  #skipsNext = false;
  #skippedCount = 0;

  /** @param schedule calls back in the next round of the event loop, and runs microtasks between two calls */
  constructor(
    schedule: (call: () => void) => void = setImmediate,
    clock: Pick<Clock, "monotonicMs"> = systemClock,
  ) {
    this.#schedule = schedule;
    this.#clock = clock;
  }

  /** Resolves at the tenant's turn; in the next round at the earliest. */
  next(tenant: string): Promise<void> {
    return new Promise((resolve) => this.call(tenant, resolve));
  }

  /** Calls back at the tenant's turn. */
  call(tenant: string, turn: () => void): void {
    this.#line.add(tenant, turn);
    this.#fill();
  }

  /**
   * Skips the turns of the next round to keep it short, unless many consecutive rounds were skipped. The event loop
   * accepts one connection in each round.
   */
  skipRound(): void {
    this.#skipsNext = true;
  }

  /** One call for each turn, so microtasks of a turn run before the next call reads the clock. */
  #fill(): void {
    const round = this.#next;
    for (; round.pendingCount < Math.min(this.#line.length, roundTurnsMax); round.pendingCount++)
      this.#schedule(() => this.#take(round));
  }

  #take(round: Round): void {
    const nowMs = this.#clock.monotonicMs();
    if (round.startMs === null) {
      round.startMs = nowMs;
      round.isSkipped = this.#skipsNext && this.#skippedCount < skippedRoundsMax;
      this.#skippedCount = round.isSkipped ? this.#skippedCount + 1 : 0;
      this.#skipsNext = false;
      this.#next = newRound();
    }
    if (!round.isSkipped && nowMs - round.startMs < roundMs) this.#line.takeNext()?.();
    round.pendingCount -= 1;
    if (round.pendingCount === 0) this.#fill();
  }
}

/** Turns of this thread's event loop. */
export const loopTurns = new LoopTurns();

// Turns that clients take: a line in which they wait for a worker, and turns of the event loop, by tenant. Work that comes in
// many pieces, or for many requests at once, takes one turn of the loop for each: one tenant's hundred requests hold up another's
// one by a turn of each tenant, and timers, connections and /health come in between. A turn bounds nothing: whoever takes one
// keeps it short.
import { type Clock, systemClock } from "../clock.ts";

/** Clients take turns, and each client's own go in the order they came: one client's many wait for each other. */
export class WaitingLine<Item> {
  /** Whose turn is next comes first; no list is empty. */
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

  /** Takes out the next; its client's turn comes again after everybody else's. */
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

  /** Takes out one that no longer waits for its turn; nothing where it is not there. */
  remove(client: string, item: Item): void {
    const items = this.#itemsOf.get(client) ?? [];
    const index = items.indexOf(item);
    if (index < 0) return;
    items.splice(index, 1);
    if (items.length === 0) this.#itemsOf.delete(client);
    this.#length -= 1;
  }
}

/** Once turns have taken so long in one round of the event loop, what else there is comes first. */
const roundMs = 2;
/** Turns of a round that take next to nothing. */
const roundTurnsMax = 4;
/** Rounds in a row without a turn. */
const skippedRoundsMax = 32;

/** One round of the event loop. */
interface Round {
  /** Calls that are to come in it. */
  pendingCount: number;
  /** When the first of them came; null before. */
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
  /** The one that has not begun. */
  #next: Round = newRound();
  #skipsNext = false;
  #skippedCount = 0;

  /** @param schedule calls back in the next round of the event loop, with microtasks between two calls */
  constructor(
    schedule: (call: () => void) => void = setImmediate,
    clock: Pick<Clock, "monotonicMs"> = systemClock,
  ) {
    this.#schedule = schedule;
    this.#clock = clock;
  }

  /** Resolves when it is the tenant's turn; at the earliest in the next round. */
  next(tenant: string): Promise<void> {
    return new Promise((resolve) => this.call(tenant, resolve));
  }

  /** Calls back when it is the tenant's turn. */
  call(tenant: string, turn: () => void): void {
    this.#line.add(tenant, turn);
    this.#fill();
  }

  /**
   * Skips the turns of the next round, so that it is short, unless many rounds in a row were skipped. The event loop accepts
   * one connection in each round.
   */
  skipRound(): void {
    this.#skipsNext = true;
  }

  /** One call for each turn: what a turn's promise leads to has run before the next call looks at the clock. */
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

/** Those of this thread's event loop, of which there is one. */
export const loopTurns = new LoopTurns();

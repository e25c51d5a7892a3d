// Lets clients or tenants take turns, in the queue of a worker and in the event loop. Work that consists of many pieces
// takes one turn per piece, so a tenant with a hundred requests delays another tenant's request by only one piece. A
// turn cannot be interrupted, so its work must be short.
import { type Clock, systemClock } from "../clock.ts";

/**
 * Queue in which clients take turns. The items of one client run in order of arrival, so many items of a client delay
 * only that client's other items.
 */
export class WaitingLine<Item> {
  /** Waiting items by client, in the order of the clients' turns. No list is empty. */
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

  /**
   * Removes and returns the next item. The item's client then goes to the end of the queue, so that every other client
   * has its turn first.
   */
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

  /** Removes an item. Does nothing if the item is no longer in the queue. */
  remove(client: string, item: Item): void {
    const items = this.#itemsOf.get(client) ?? [];
    const index = items.indexOf(item);
    if (index < 0) return;
    items.splice(index, 1);
    if (items.length === 0) this.#itemsOf.delete(client);
    this.#length -= 1;
  }
}

/** Maximum total time in milliseconds for the turns of one round. After that, other work of the event loop runs. */
const roundMs = 2;
/** Maximum number of turns in one iteration (round) of the event loop, even if the turns are very short. */
const roundTurnsMax = 4;
/** Maximum number of consecutive rounds in which all turns are skipped. */
const skippedRoundsMax = 32;

/** One iteration (round) of the event loop, with the turns that run in it. */
interface Round {
  /** Number of calls that are scheduled for the round and have not run yet. */
  pendingCount: number;
  /** Time at which the round's first call began; null before that. */
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
  /** The next round, which has not begun yet. */
  #next: Round = newRound();
  #skipsNext = false;
  #skippedCount = 0;

  /**
   * @param schedule runs the callback in the next round of the event loop; microtasks must run between two callbacks
   */
  constructor(
    schedule: (call: () => void) => void = setImmediate,
    clock: Pick<Clock, "monotonicMs"> = systemClock,
  ) {
    this.#schedule = schedule;
    this.#clock = clock;
  }

  /** Resolves at the tenant's turn, which comes in the next round of the event loop at the earliest. */
  next(tenant: string): Promise<void> {
    return new Promise((resolve) => this.call(tenant, resolve));
  }

  /** Calls `turn` at the tenant's turn. */
  call(tenant: string, turn: () => void): void {
    this.#line.add(tenant, turn);
    this.#fill();
  }

  /**
   * Skips all turns of the next round to keep the round short, unless many consecutive rounds have already been
   * skipped. Used when connections are waiting, because the event loop accepts one connection in each round.
   */
  skipRound(): void {
    this.#skipsNext = true;
  }

  /**
   * Schedules a separate callback for each turn, so that the microtasks of a turn run before the next callback reads
   * the clock.
   */
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

/** The turns of this thread's event loop. */
export const loopTurns = new LoopTurns();

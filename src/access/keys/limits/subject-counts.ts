// Counts of one key or entity, by time slot. Each slot has three parts: the last known total of all servers, this
// server's counts in transit to the database, and its counts not yet sent.
import type { RateCounts, RateKind, SlotCounts } from "../../../base/domain/keys/limits.ts";
import type { Window } from "./rate-window.ts";

interface Slot {
  /** Counts of all servers together, as last read from the database. */
  shared: RateCounts;
  /** This server's counts that are being sent to the database. */
  sent: RateCounts;
  /** This server's counts not yet sent. */
  own: RateCounts;
}

const none: RateCounts = { requests: 0, tokens: 0 };

function sum(...all: readonly RateCounts[]): RateCounts {
  return {
    requests: all.reduce((total, { requests }) => total + requests, 0),
    tokens: all.reduce((total, { tokens }) => total + tokens, 0),
  };
}

export class SubjectCounts {
  /** Number of requests running on this server. */
  running = 0;
  /** Number of this server's running requests, as last stored in the database. */
  storedRunning = 0;
  /** Number of requests running on the other servers at the last exchange. */
  othersRunning = 0;
  /** Time of the last exchange with the database, on the monotonic clock. */
  readMs = -Infinity;
  /** Number of requests that wait on this server, by model name. */
  readonly waiting = new Map<string, number>();
  readonly #slots = new Map<number, Slot>();

  add(slot: number, counts: Partial<RateCounts>): void {
    const of = this.#slotOf(slot);
    of.own = sum(of.own, { ...none, ...counts });
  }

  /** Returns the amount used in each time slot, as far as this server knows. */
  window(kind: RateKind): Window {
    return new Map(
      [...this.#slots].map(([slot, { shared, sent, own }]) => [slot, sum(shared, sent, own)[kind]]),
    );
  }

  /** True if the key or entity has running or waiting requests on this server. */
  get isInUse(): boolean {
    return this.running !== 0 || this.waiting.size > 0;
  }

  /**
   * Returns the unsent counts and marks them as in transit. The caller must then call {@link settle} or {@link
   * giveBack}.
   */
  take(): readonly Omit<SlotCounts, "subject">[] {
    const taken: Omit<SlotCounts, "subject">[] = [];
    for (const [slot, of] of this.#slots) {
      if (of.own.requests === 0 && of.own.tokens === 0) continue;
      taken.push({ slot, ...of.own });
      [of.sent, of.own] = [of.own, none];
    }
    return taken;
  }

  /**
   * Marks the counts in transit as unsent, because they could not be stored.
   *
   * @returns true if there were any such counts
   */
  giveBack(): boolean {
    let isSome = false;
    for (const of of this.#slots.values()) {
      isSome ||= of.sent !== none;
      [of.own, of.sent] = [sum(of.own, of.sent), none];
    }
    return isSome;
  }

  /**
   * Replaces the counts in transit by the total of all servers, which includes them. Drops time slots before `since`.
   */
  settle(shared: readonly Omit<SlotCounts, "subject">[], since: number): void {
    for (const [slot, of] of this.#slots) {
      if (slot < since) this.#slots.delete(slot);
      else [of.shared, of.sent] = [none, none];
    }
    for (const { slot, requests, tokens } of shared) this.#slotOf(slot).shared = { requests, tokens };
  }

  #slotOf(slot: number): Slot {
    const of = this.#slots.get(slot) ?? { shared: none, sent: none, own: none };
    this.#slots.set(slot, of);
    return of;
  }
}

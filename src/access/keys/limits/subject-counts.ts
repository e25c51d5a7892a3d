// Counts of one key or entity by slot: the last known total of all servers, this server's counts being sent, and its
// counts since.
import type { RateCounts, RateKind, SlotCounts } from "../../../base/domain/keys/limits.ts";
import type { Window } from "./rate-window.ts";

interface Slot {
  /** Counts of all servers, including this one. */
  shared: RateCounts;
  /** This server's counts being sent. */
  sent: RateCounts;
  /** This server's counts not sent yet. */
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
  /** Requests running on this server. */
  running = 0;
  /** Running requests last reported to the others. */
  storedRunning = 0;
  /** Running requests of the others at the last exchange. */
  othersRunning = 0;
  /** Time of that exchange, on the monotonic clock. */
  readMs = -Infinity;
  /** Number of requests waiting for each model, by name. */
  readonly waiting = new Map<string, number>();
  readonly #slots = new Map<number, Slot>();

  add(slot: number, counts: Partial<RateCounts>): void {
    const of = this.#slotOf(slot);
    of.own = sum(of.own, { ...none, ...counts });
  }

  /** Returns the counts known to this server. */
  window(kind: RateKind): Window {
    return new Map(
      [...this.#slots].map(([slot, { shared, sent, own }]) => [slot, sum(shared, sent, own)[kind]]),
    );
  }

  /** True if it has running or waiting requests here. */
  get isInUse(): boolean {
    return this.running !== 0 || this.waiting.size > 0;
  }

  /** Returns the counts to send, which are in transit until {@link settle} or {@link giveBack}. */
  take(): readonly Omit<SlotCounts, "subject">[] {
    const taken: Omit<SlotCounts, "subject">[] = [];
    for (const [slot, of] of this.#slots) {
      if (of.own.requests === 0 && of.own.tokens === 0) continue;
      taken.push({ slot, ...of.own });
      [of.sent, of.own] = [of.own, none];
    }
    return taken;
  }

  /** Takes back counts that were not stored. @returns true if there were any */
  giveBack(): boolean {
    let isSome = false;
    for (const of of this.#slots.values()) {
      isSome ||= of.sent !== none;
      [of.own, of.sent] = [sum(of.own, of.sent), none];
    }
    return isSome;
  }

  /** Replaces sent counts by the total of all servers, which includes them; forgets slots before `since`. */
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

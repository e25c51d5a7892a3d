// What is counted of one key or entity, by slots: what all servers had when they were asked last, what of this server is on
// its way to them, and what it has counted since.
import type { RateCounts, RateKind, SlotCounts } from "../../../base/domain/keys/limits.ts";
import type { Window } from "./rate-window.ts";

interface Slot {
  /** Of all servers, this one included. */
  shared: RateCounts;
  /** Of this one, on its way. */
  sent: RateCounts;
  /** Of this one, not sent yet. */
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
  /** Requests that run on this server. */
  running = 0;
  /** As the others know it. */
  storedRunning = 0;
  /** On the others, when they were asked last. */
  othersRunning = 0;
  /** When that was, on the monotonic clock. */
  readMs = -Infinity;
  /** Requests that wait for a model, by its name. */
  readonly waiting = new Map<string, number>();
  readonly #slots = new Map<number, Slot>();

  add(slot: number, counts: Partial<RateCounts>): void {
    const of = this.#slotOf(slot);
    of.own = sum(of.own, { ...none, ...counts });
  }

  /** What counts, as far as this server knows. */
  window(kind: RateKind): Window {
    return new Map(
      [...this.#slots].map(([slot, { shared, sent, own }]) => [slot, sum(shared, sent, own)[kind]]),
    );
  }

  /** Whether something of it runs or waits here. */
  get isInUse(): boolean {
    return this.running !== 0 || this.waiting.size > 0;
  }

  /** What is to be sent; until {@link settle} or {@link giveBack} it is on its way. */
  take(): readonly Omit<SlotCounts, "subject">[] {
    const taken: Omit<SlotCounts, "subject">[] = [];
    for (const [slot, of] of this.#slots) {
      if (of.own.requests === 0 && of.own.tokens === 0) continue;
      taken.push({ slot, ...of.own });
      [of.sent, of.own] = [of.own, none];
    }
    return taken;
  }

  /** What was sent is not stored. @returns whether there was something */
  giveBack(): boolean {
    let isSome = false;
    for (const of of this.#slots.values()) {
      isSome ||= of.sent !== none;
      [of.own, of.sent] = [sum(of.own, of.sent), none];
    }
    return isSome;
  }

  /** What was sent has arrived, and this is what all servers have with it; slots before `since` are forgotten. */
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

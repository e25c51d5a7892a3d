// What the servers of one database count of keys and entities together. Each counts for itself at once, and exchanges what it
// counted for what all have: at once where somebody waits for it, and behind the requests twice a second at most. Of what
// nobody asks for nothing is stored or read.
import type { Clock } from "../../../base/domain/clock.ts";
import { waitOver } from "../../../base/domain/waiting/wait-over.ts";
import {
  slotSeconds,
  type LimitStore,
  type LimitSubject,
  type RateCounts,
  type SlotCounts,
} from "../../../base/domain/keys/limits.ts";
import { slotAt, windowSeconds } from "./rate-window.ts";
import { SubjectCounts } from "./subject-counts.ts";

export interface SharedCountsDependencies {
  readonly store: Pick<LimitStore, "isShared" | "exchange" | "sweepSlots">;
  readonly clock: Clock;
  /** This server, as its lease names it. */
  readonly serverId: () => string;
  /** Called with what keeps counts from being stored or read; until it is over this server goes by its own. */
  readonly onFault: (error: unknown) => void;
}

/** How old what is known may be for a request to be refused by it. */
const freshMs = 1000;
/** How long an exchange is waited for; a database that takes longer stops nobody. */
const deadlineMs = 1000;
/** The least between two exchanges that nobody waits for. */
const gatherMs = 500;
/** A subject of which nothing came for so long is forgotten. */
const forgottenMs = 180_000;
const sweepSlots = 600 / slotSeconds;
/** Subjects of one statement. */
const subjectsMax = 500;

export class SharedCounts {
  readonly #dependencies: SharedCountsDependencies;
  readonly #closing = new AbortController();
  readonly #counts = new Map<LimitSubject, SubjectCounts>();
  /** Those whose counts are to be stored. */
  readonly #behind = new Set<LimitSubject>();
  /** Those whose counts somebody waits for. */
  readonly #wanted = new Set<LimitSubject>();
  /** Exchanges take turns, so that it is known which counts each has in it. */
  #turn: Promise<unknown> = Promise.resolve();
  /** The one that has not begun. */
  #next: Promise<boolean> | null = null;
  #storing: Promise<void> | null = null;
  #exchangedMs = -Infinity;
  #sweptSlot = -Infinity;

  constructor(dependencies: SharedCountsDependencies) {
    this.#dependencies = dependencies;
  }

  of(subject: LimitSubject): SubjectCounts {
    const known = this.#counts.get(subject) ?? new SubjectCounts();
    this.#counts.set(subject, known);
    return known;
  }

  get seconds(): number {
    return this.#dependencies.clock.now().getTime() / 1000;
  }

  /** Counts in a slot; what is too old to matter is let be. */
  add(subject: LimitSubject, slot: number, counts: Partial<RateCounts>): void {
    if (slot < slotAt(this.seconds - windowSeconds)) return;
    this.of(subject).add(slot, counts);
    this.#store(subject);
  }

  /** @param change how many more requests run */
  run(subject: LimitSubject, change: number): void {
    this.of(subject).running += change;
    this.#store(subject);
  }

  /** Whether what is known of them is what all servers have, as far as a request may be refused by it. */
  isKnown(subjects: readonly LimitSubject[]): boolean {
    const { store, clock } = this.#dependencies;
    const since = store.isShared ? clock.monotonicMs() - freshMs : 0;
    return subjects.every((subject) => this.of(subject).readMs >= since);
  }

  /** Stores what was counted of them and reads what all have; resolves when that is done, or cannot be in time. */
  async exchange(subjects: readonly LimitSubject[]): Promise<void> {
    for (const subject of subjects) this.#wanted.add(subject);
    const waiting = new AbortController();
    const deadline = this.#dependencies.clock
      .sleep(deadlineMs, { signal: waiting.signal })
      .catch(() => undefined);
    await Promise.race([this.#inTurn(), deadline]).finally(() => waiting.abort(waitOver));
  }

  /** Resolves when all that was counted is stored, or could not be. */
  async stop(): Promise<void> {
    this.#closing.abort();
    await this.#storing;
  }

  #store(subject: LimitSubject): void {
    this.#behind.add(subject);
    this.#storing ??= this.#storeAll();
  }

  async #storeAll(): Promise<void> {
    const { clock } = this.#dependencies;
    let isAway = false;
    while (this.#behind.size > 0 && !(isAway && this.#closing.signal.aborted)) {
      const waitMs = this.#exchangedMs + gatherMs - clock.monotonicMs();
      // Ends at once when the server stops.
      if (waitMs > 0) await clock.sleep(waitMs, { signal: this.#closing.signal }).catch(() => undefined);
      if (this.#behind.size > 0) isAway = !(await this.#inTurn());
    }
    this.#storing = null;
  }

  /** The exchange that begins when those before it are over; false where something could not be stored. */
  #inTurn(): Promise<boolean> {
    if (this.#next === null) {
      this.#next = this.#turn.then(() => this.#exchangeAll());
      this.#turn = this.#next;
    }
    return this.#next;
  }

  /** Never rejects. */
  async #exchangeAll(): Promise<boolean> {
    // Who comes from here on is in the next.
    this.#next = null;
    this.#exchangedMs = this.#dependencies.clock.monotonicMs();
    const subjects = [...new Set([...this.#wanted, ...this.#behind])];
    this.#wanted.clear();
    let isWhole = true;
    for (let start = 0; start < subjects.length; start += subjectsMax)
      isWhole = (await this.#exchangeSome(subjects.slice(start, start + subjectsMax))) && isWhole;
    this.#forget();
    return isWhole;
  }

  async #exchangeSome(subjects: readonly LimitSubject[]): Promise<boolean> {
    const { store, clock, serverId, onFault } = this.#dependencies;
    const [readMs, sinceSlot] = [clock.monotonicMs(), slotAt(this.seconds - windowSeconds)];
    const slots: SlotCounts[] = [];
    for (const subject of subjects) {
      this.#behind.delete(subject);
      for (const sent of this.of(subject).take()) slots.push({ subject, ...sent });
    }
    const running = subjects
      .filter((subject) => this.of(subject).storedRunning !== this.of(subject).running)
      .map((subject) => ({ subject, count: this.of(subject).running }));
    try {
      const asked = { serverId: serverId(), slots, running, subjects, sinceSlot, now: clock.now() };
      const all = await store.exchange(asked);
      for (const { subject, count } of running) this.of(subject).storedRunning = count;
      const others = new Map(all.othersRunning.map(({ subject, count }) => [subject, count]));
      for (const subject of subjects) {
        const of = this.of(subject);
        of.settle(
          all.slots.filter((one) => one.subject === subject),
          sinceSlot,
        );
        [of.readMs, of.othersRunning] = [readMs, others.get(subject) ?? 0];
      }
      await this.#sweep();
      return true;
    } catch (error) {
      // Where it was stored and only the answer is missing it counts twice, and so for a minute less is let in.
      for (const subject of subjects) if (this.of(subject).giveBack()) this.#behind.add(subject);
      for (const { subject } of running) this.#behind.add(subject);
      onFault(error);
      return false;
    }
  }

  #forget(): void {
    const nowMs = this.#dependencies.clock.monotonicMs();
    for (const [subject, of] of this.#counts) {
      const isAsked = of.isInUse || this.#behind.has(subject) || this.#wanted.has(subject);
      if (!isAsked && nowMs - of.readMs >= forgottenMs) this.#counts.delete(subject);
    }
  }

  /** Once in ten minutes. */
  async #sweep(): Promise<void> {
    const before = slotAt(this.seconds - windowSeconds);
    if (before < this.#sweptSlot + sweepSlots) return;
    this.#sweptSlot = before;
    await this.#dependencies.store.sweepSlots(before);
  }
}

// Counts of requests and tokens for keys and entities, shared by all servers on one database. A server exchanges counts
// immediately if a request waits for them, otherwise at most twice a second. Keys and entities without requests cause
// no reads or writes.
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
  /** Returns the id under which this server holds its lease in the database. */
  readonly serverId: () => string;
  /** Receives the error of a failed exchange. Until an exchange succeeds, this server uses its own counts. */
  readonly onFault: (error: unknown) => void;
}

/** Maximum age in milliseconds of the other servers' counts on which a refusal may be based. */
const freshMs = 1000;
/**
 * Maximum time in milliseconds that a request waits for an exchange, so that a slow database does not block
 * requests.
 */
const deadlineMs = 1000;
/** Minimum interval in milliseconds between exchanges for which no request waits. */
const gatherMs = 500;
/** Time in milliseconds after which the counts of an unused key or entity are dropped from memory. */
const forgottenMs = 180_000;
const sweepSlots = 600 / slotSeconds;
/** Maximum number of keys and entities in one SQL statement. */
const subjectsMax = 500;

export class SharedCounts {
  readonly #dependencies: SharedCountsDependencies;
  readonly #closing = new AbortController();
  readonly #counts = new Map<LimitSubject, SubjectCounts>();
  /** Keys and entities with counts that this server has not stored in the database yet. */
  readonly #behind = new Set<LimitSubject>();
  /** Keys and entities whose shared counts a request is waiting for. */
  readonly #wanted = new Set<LimitSubject>();
  /**
   * Settles when the last exchange ends. Exchanges run one after the other, so that each exchange knows which counts it
   * includes.
   */
  #turn: Promise<unknown> = Promise.resolve();
  /** Exchange that is planned but has not started; null if none is planned. */
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

  /** Adds counts to a time slot. Ignores slots that are no longer within the window. */
  add(subject: LimitSubject, slot: number, counts: Partial<RateCounts>): void {
    if (slot < slotAt(this.seconds - windowSeconds)) return;
    this.of(subject).add(slot, counts);
    this.#store(subject);
  }

  /** @param change amount to add to the number of running requests; negative when requests end */
  run(subject: LimitSubject, change: number): void {
    this.of(subject).running += change;
    this.#store(subject);
  }

  /** True if the counts of these keys and entities were read recently enough to refuse a request because of them. */
  isKnown(subjects: readonly LimitSubject[]): boolean {
    const { store, clock } = this.#dependencies;
    const since = store.isShared ? clock.monotonicMs() - freshMs : 0;
    return subjects.every((subject) => this.of(subject).readMs >= since);
  }

  /**
   * Stores this server's counts of the given keys and entities, and reads the totals of all servers. Resolves when
   * done, or on timeout.
   */
  async exchange(subjects: readonly LimitSubject[]): Promise<void> {
    for (const subject of subjects) this.#wanted.add(subject);
    const waiting = new AbortController();
    const deadline = this.#dependencies.clock
      .sleep(deadlineMs, { signal: waiting.signal })
      .catch(() => undefined);
    await Promise.race([this.#inTurn(), deadline]).finally(() => waiting.abort(waitOver));
  }

  /** Resolves when all counts are stored, or an attempt to store them has failed. */
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
      // `stop` aborts the sleep, so that the server does not wait to store the last counts.
      if (waitMs > 0) await clock.sleep(waitMs, { signal: this.#closing.signal }).catch(() => undefined);
      if (this.#behind.size > 0) isAway = !(await this.#inTurn());
    }
    this.#storing = null;
  }

  /** Runs an exchange after the exchanges already running. Resolves with false if some counts could not be stored. */
  #inTurn(): Promise<boolean> {
    if (this.#next === null) {
      this.#next = this.#turn.then(() => this.#exchangeAll());
      this.#turn = this.#next;
    }
    return this.#next;
  }

  /** Stores and reads the counts of all keys and entities that need it; never rejects. */
  async #exchangeAll(): Promise<boolean> {
    // The counts that this exchange sends are fixed from here on, so new callers must wait for the next exchange.
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
      // If the database stored these counts and only its response was lost, they count twice. For a minute, the servers
      // then admit fewer requests than the limits allow.
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

  /** Deletes expired counts and forgets unused keys and entities, once in ten minutes. */
  async #sweep(): Promise<void> {
    const before = slotAt(this.seconds - windowSeconds);
    if (before < this.#sweptSlot + sweepSlots) return;
    this.#sweptSlot = before;
    await this.#dependencies.store.sweepSlots(before);
  }
}

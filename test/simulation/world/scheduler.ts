// Time and chance of a simulated world. Every awaited event happens at a simulated time, and events at the same time
// happen in random order. All random numbers are drawn here from the seed, so a seed always gives the same run;
// `trace`, a hash of all events, verifies this.
import { type Random, seededRandom } from "../../../src/base/domain/random.ts";

/** A process that may die. Afterwards, nothing that it waits for happens. */
export interface Mortal {
  readonly isAlive: boolean;
  /**
   * Time until which the process is suspended, like a machine that swaps or migrates. Events before this time reach the
   * process only then.
   */
  readonly stalledUntilMs: number;
}

interface Event {
  readonly atMs: number;
  /** Random number that determines the order of events at the same time. */
  readonly draw: number;
  readonly what: string;
  readonly owner: Mortal | null;
  readonly happen: () => void;
}

/** Called with each event as it happens, for people who inspect a run. */
export type Watch = (atMs: number, what: string) => void;

export class Scheduler {
  readonly random: Random;
  readonly #watch: Watch | null;
  /** Pending events as a heap: the first element is the next event. */
  readonly #events: Event[] = [];
  #nowMs = 0;
  #eventCount = 0;
  #trace = 0x811c9dc5;

  constructor(seed: number, watch: Watch | null = null) {
    this.random = seededRandom("simulation", seed);
    this.#watch = watch;
  }

  /** Simulated milliseconds since the world began. */
  get nowMs(): number {
    return this.#nowMs;
  }

  get eventCount(): number {
    return this.#eventCount;
  }

  /** Hash of all events so far. Two runs have the same hash only if the same events happened at the same times. */
  get trace(): number {
    return this.#trace >>> 0;
  }

  /** Returns true with this probability. */
  chance(probability: number): boolean {
    return probability > 0 && this.random.uniform() < probability;
  }

  /** Returns a random time in [0, maxMs); short ones are more likely. */
  shortTime(maxMs: number): number {
    return maxMs * this.random.uniform() ** 3;
  }

  /** Calls `happen` after this time, unless the owner has died by then. */
  after(durationMs: number, what: string, owner: Mortal | null, happen: () => void): void {
    const atMs = this.#nowMs + Math.max(0, durationMs);
    this.#push({ atMs, draw: this.random.uniform(), what, owner, happen });
  }

  /** Resolves after this time; never if the owner has died by then. */
  pass(durationMs: number, what: string, owner: Mortal | null): Promise<void> {
    return new Promise((resolve) => this.after(durationMs, what, owner, resolve));
  }

  /** Adds a decision to the trace, at the current time. */
  note(what: string): void {
    this.#watch?.(this.#nowMs, what);
    let trace = this.#trace ^ Math.round(this.#nowMs * 1000);
    for (let index = 0; index < what.length; index++)
      trace = Math.imul(trace ^ what.charCodeAt(index), 0x01000193);
    this.#trace = trace;
  }

  /**
   * Runs events until `isOver` returns true or no event before `untilMs` is left. Returns whether `isOver` returned
   * true.
   */
  async run(isOver: () => boolean, untilMs: number): Promise<boolean> {
    await settled();
    while (!isOver()) {
      const event = this.#events[0];
      if (event === undefined || event.atMs > untilMs) return false;
      this.#pop();
      this.#nowMs = event.atMs;
      if (event.owner?.isAlive === false) continue;
      const stalledUntilMs = event.owner?.stalledUntilMs ?? 0;
      if (stalledUntilMs > event.atMs) {
        this.#push({ ...event, atMs: stalledUntilMs });
        continue;
      }
      this.#eventCount += 1;
      this.note(event.what);
      event.happen();
      await settled();
    }
    return true;
  }

  #push(event: Event): void {
    const events = this.#events;
    let place = events.push(event) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!isBefore(event, events[parent])) break;
      events[place] = events[parent];
      place = parent;
    }
    events[place] = event;
  }

  #pop(): void {
    const events = this.#events;
    const last = events.pop();
    if (last === undefined || events.length === 0) return;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= events.length) break;
      if (child + 1 < events.length && isBefore(events[child + 1], events[child])) child += 1;
      if (!isBefore(events[child], last)) break;
      events[place] = events[child];
      place = child;
    }
    events[place] = last;
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.draw < other.draw);
}

/** Waits until code has run that waits for no simulated event: promises, and one turn of the event loop. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

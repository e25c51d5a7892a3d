// A simulated process: a life that may end at any moment, and a clock that may be set. When it dies, nothing that it waits
// for comes any more; what it had of others is theirs to take back.
import type { Clock } from "../../../src/base/domain/clock.ts";
import type { Mortal, Scheduler } from "./scheduler.ts";

/** The world's time at its beginning; clocks that were never set show it. */
export const firstMoment = Date.UTC(2026, 10, 21, 12);

export class SimulatedProcess implements Mortal {
  readonly number: number;
  readonly clock: SimulatedClock;
  readonly #scheduler: Scheduler;
  readonly #onDeath = new Set<() => void>();
  #isAlive = true;
  #stalledUntilMs = 0;

  constructor(scheduler: Scheduler, number: number) {
    this.#scheduler = scheduler;
    this.number = number;
    this.clock = new SimulatedClock(scheduler, this);
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get stalledUntilMs(): number {
    return this.#stalledUntilMs;
  }

  /** Has it stand still for so long. */
  stall(durationMs: number): void {
    this.#stalledUntilMs = this.#scheduler.nowMs + durationMs;
  }

  /** Calls back when it dies, at once where it has. */
  onDeath(callback: () => void): void {
    if (this.#isAlive) this.#onDeath.add(callback);
    else callback();
  }

  die(): void {
    if (!this.#isAlive) return;
    this.#isAlive = false;
    for (const callback of this.#onDeath) callback();
  }
}

export class SimulatedClock implements Clock {
  readonly #scheduler: Scheduler;
  readonly #owner: Mortal;
  #aheadMs = 0;

  constructor(scheduler: Scheduler, owner: Mortal) {
    this.#scheduler = scheduler;
    this.#owner = owner;
  }

  now(): Date {
    return new Date(firstMoment + Math.floor(this.#scheduler.nowMs + this.#aheadMs));
  }

  monotonicMs(): number {
    return this.#scheduler.nowMs;
  }

  /** Sets it to what is so much ahead of the world. */
  set(aheadMs: number): void {
    this.#aheadMs = aheadMs;
  }

  /** Sets the wall clock forward or back; nobody's sleep changes. */
  step(durationMs: number): void {
    this.#aheadMs += durationMs;
  }

  sleep(durationMs: number, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(signal?.reason as Error);
      if (signal?.aborted) return abort();
      signal?.addEventListener("abort", abort, { once: true });
      this.#scheduler.after(durationMs, "wake", this.#owner, () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      });
    });
  }
}

// A simulated process. It may die at any moment, and its clock may be stepped. When it dies, nothing that it waits for
// ever arrives; the owners of its resources must release them.
import type { Clock } from "../../../src/base/domain/clock.ts";
import type { Mortal, Scheduler } from "./scheduler.ts";

/** Time at which the world begins. Clocks start with it, unless they are stepped. */
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

  /** Suspends the process for this time, as on a busy machine. */
  stall(durationMs: number): void {
    this.#stalledUntilMs = this.#scheduler.nowMs + durationMs;
  }

  /** Calls back when the process dies; immediately if it is already dead. */
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

  /** Sets how far the wall clock is ahead of the world's time. */
  set(aheadMs: number): void {
    this.#aheadMs = aheadMs;
  }

  /** Steps the wall clock forward or back; running sleeps are not affected. */
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

// A clock for tests of all folders. Its time stands still until a test advances it.
import type { SharedClock } from "../clock.ts";

interface Sleeper {
  readonly wakeAtMs: number;
  readonly wake: () => void;
}

export class FakeClock implements SharedClock {
  #startMs: number;
  #elapsedMs = 0;
  #sleepers: Sleeper[] = [];

  constructor(start: Date = new Date(Date.UTC(2026, 10, 21, 12))) {
    this.#startMs = start.getTime();
  }

  now(): Date {
    return new Date(this.#startMs + this.#elapsedMs);
  }

  /** Moves the wall clock forward or back, as an administrator or a time server may. Sleeps do not notice it. */
  step(durationMs: number): void {
    this.#startMs += durationMs;
  }

  /** Does nothing, because this clock is always synchronized. */
  async synchronize(): Promise<void> {}

  aheadMs(): number {
    return 0;
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  sleep(durationMs: number, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const onAbort = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason as Error);
      };
      const sleeper: Sleeper = {
        wakeAtMs: this.#elapsedMs + durationMs,
        wake: () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#sleepers.push(sleeper);
    });
  }

  /** Number of sleeps that have not ended yet. */
  get sleepingCount(): number {
    return this.#sleepers.length;
  }

  /**
   * Advances the time. Ends each sleep that is due, in order, and runs the code that waited for it before the next
   * sleep ends.
   */
  async advance(durationMs: number): Promise<void> {
    const endMs = this.#elapsedMs + durationMs;
    await settle();
    for (;;) {
      const [next] = this.#sleepers
        .filter((sleeper) => sleeper.wakeAtMs <= endMs)
        .sort((one, other) => one.wakeAtMs - other.wakeAtMs);
      if (next === undefined) break;
      this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== next);
      this.#elapsedMs = Math.max(this.#elapsedMs, next.wakeAtMs);
      next.wake();
      await settle();
    }
    this.#elapsedMs = endMs;
    await settle();
  }
}

/** Runs all code that can run without the passage of time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

// The only module that reads the time, from this machine's clock or from a clock that all servers on a database share.
// Everything that waits takes a `Clock`, so that tests need no real delays. `performance` is imported, because Node.js
// loads the global `performance` at its first use, which fails if the script is interrupted meanwhile.
import { performance } from "node:perf_hooks";

export interface Clock {
  /** Returns the wall-clock time in UTC. */
  now(): Date;
  /** Returns the milliseconds since an arbitrary start. The value never decreases. */
  monotonicMs(): number;
  /** Resolves after `durationMs`. If the signal aborts first, rejects with the signal's reason. */
  sleep(durationMs: number, options?: { readonly signal?: AbortSignal }): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  sleep: (durationMs, options = {}) =>
    new Promise((resolve, reject) => {
      const { signal } = options;
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, durationMs);
      signal?.addEventListener("abort", onAbort, { once: true });
    }),
};

export interface SharedClock extends Clock {
  /**
   * Synchronizes this clock with the clock that the servers share. Rejects if the shared clock is unavailable; this
   * clock then continues from its last successful synchronization.
   */
  synchronize(): Promise<void>;
  /**
   * Returns the milliseconds by which this machine's own clock is ahead of the shared clock; negative if it is behind.
   */
  aheadMs(): number;
}

/** Returns this machine's own clock as a shared clock, for a server that shares its database with no other server. */
export function ownClock(clock: Clock): SharedClock {
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    sleep: (durationMs, options) => clock.sleep(durationMs, options),
    synchronize: () => Promise.resolve(),
    aheadMs: () => 0,
  };
}

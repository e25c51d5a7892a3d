// The only place that reads the time: this machine's, and the time by which all servers on a database go.
// Everything that waits takes a Clock, so that tests need no sleeps.
// `performance` is imported: Node loads the global at its first use, and a script that is interrupted meanwhile loses it.
import { performance } from "node:perf_hooks";

export interface Clock {
  /** Wall-clock time, UTC. */
  now(): Date;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonicMs(): number;
  /** Resolves after `durationMs`, or rejects with the signal's reason when it aborts first. */
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
  /** Sets it right; until then it goes on from where it was set the last time. Rejects where nothing says what time it is. */
  synchronize(): Promise<void>;
  /** How far ahead of it this machine's own clock is, in milliseconds; negative is behind. */
  aheadMs(): number;
}

/** This machine's own clock, where nobody is to share its time. */
export function ownClock(clock: Clock): SharedClock {
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    sleep: (durationMs, options) => clock.sleep(durationMs, options),
    synchronize: () => Promise.resolve(),
    aheadMs: () => 0,
  };
}

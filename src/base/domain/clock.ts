// The only place that reads the time. Everything that waits takes a Clock, so that tests need no sleeps.
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

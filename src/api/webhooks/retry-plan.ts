// Exponential back-off with jitter for failed deliveries. Pure.

/** Wait after the first attempt; each further wait is three times as long. */
const firstWaitMs = 5000;
const waitMaxMs = 6 * 3_600_000;

/**
 * Returns the wait after an attempt: exponential back-off, randomly between half and all of it, so that deliveries
 * that failed together are not retried together.
 *
 * @param attemptCount attempts since the first, at least 1
 * @param chance uniform in [0, 1)
 * @param askedSeconds wait that the receiver asked for; null if none
 */
export function waitMs(attemptCount: number, chance: number, askedSeconds: number | null): number {
  const full = Math.min(firstWaitMs * 3 ** Math.min(attemptCount - 1, 20), waitMaxMs);
  return Math.max(full * (0.5 + chance / 2), Math.min((askedSeconds ?? 0) * 1000, waitMaxMs));
}

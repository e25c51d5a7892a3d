// Plans the retries of failed deliveries: exponential back-off with jitter. Pure.

/**
 * Wait in milliseconds before the first retry, without jitter. Each further wait is three times as long as the one
 * before.
 */
const firstWaitMs = 5000;
const waitMaxMs = 6 * 3_600_000;

/**
 * Returns the wait in milliseconds before the next attempt: exponential back-off, shortened by up to half at random, so
 * that deliveries that failed together are not retried together.
 *
 * @param attemptCount number of attempts since the delivery's creation or last replay, at least 1
 * @param chance uniform in [0, 1)
 * @param askedSeconds wait that the receiver asked for in Retry-After; null if none
 */
export function waitMs(attemptCount: number, chance: number, askedSeconds: number | null): number {
  const full = Math.min(firstWaitMs * 3 ** Math.min(attemptCount - 1, 20), waitMaxMs);
  return Math.max(full * (0.5 + chance / 2), Math.min((askedSeconds ?? 0) * 1000, waitMaxMs));
}

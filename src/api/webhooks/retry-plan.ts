// When a delivery that failed is tried again: later and later, and not with all others at once. Pure.

/** After the first attempt; each further wait is three times as long. */
const firstWaitMs = 5000;
const waitMaxMs = 6 * 3_600_000;

/**
 * How long to wait behind an attempt: exponential backoff, between half of it and all of it by chance, so that what failed
 * together does not come together again.
 *
 * @param attemptCount attempts since it is tried, at least 1
 * @param chance uniform in [0, 1)
 * @param askedSeconds what the receiver asked for; null where it did not
 */
export function waitMs(attemptCount: number, chance: number, askedSeconds: number | null): number {
  const full = Math.min(firstWaitMs * 3 ** Math.min(attemptCount - 1, 20), waitMaxMs);
  return Math.max(full * (0.5 + chance / 2), Math.min((askedSeconds ?? 0) * 1000, waitMaxMs));
}

// Restart back-off for a process that died: short delays at first, then longer ones; after too many restarts, the
// process is not restarted. A pure function of the earlier restarts.

export const restartWindowMs = 600_000;
const delayFirstMs = 250;
const delayMaxMs = 10_000;

/**
 * Returns the delay before the next restart.
 *
 * @param restartedAtMs times of earlier restarts, on the clock of `nowMs`
 * @returns null if there were `countMax` of them within the last {@link restartWindowMs}
 */
export function restartDelayMs(
  restartedAtMs: readonly number[],
  nowMs: number,
  countMax: number,
): number | null {
  const recentCount = restartedAtMs.filter((time) => nowMs - time < restartWindowMs).length;
  if (recentCount >= countMax) return null;
  return Math.min(delayMaxMs, delayFirstMs * 2 ** recentCount);
}

// Back-off for restarting a process that died. Delays are short at first, then longer; after too many restarts, the
// process is not restarted again. The delay depends only on the times of earlier restarts.

export const restartWindowMs = 600_000;
const delayFirstMs = 250;
const delayMaxMs = 10_000;

/**
 * Returns the delay in milliseconds before the next restart.
 *
 * @param restartedAtMs times of earlier restarts, on the same clock as `nowMs`
 * @returns null if at least `countMax` of these restarts were within the last {@link restartWindowMs}
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

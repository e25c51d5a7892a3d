// When a process that died may be started again: soon at first, then ever later, and not at all after too many times.
// A pure function of when it was started before.

export const restartWindowMs = 600_000;
const delayFirstMs = 250;
const delayMaxMs = 10_000;

/**
 * How long to wait before the next restart.
 *
 * @param restartedAtMs when earlier restarts were made, on the clock of `nowMs`
 * @returns null when there were `countMax` of them within the last {@link restartWindowMs}
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

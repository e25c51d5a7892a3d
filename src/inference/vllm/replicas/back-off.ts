// Back-off before a failed server is probed again. It grows with each failure, so that a server that passes probes but
// fails requests costs few requests. Random jitter spreads the probes of several Hone servers that lost the same vLLM
// server at the same time.

/** Maximum back-off, as a multiple of the probe interval. */
const factorMax = 8;

/**
 * Returns the milliseconds to wait in addition to the usual probe interval.
 *
 * @param lookMs the probe interval
 * @param absenceCount how often the vLLM server has become unreachable since it last answered a request; the first time
 * adds no wait
 * @param jitter random number from 0 to 1; maps to a factor from 0.75 to 1.25 for the wait
 */
export function extraBackOffMs(lookMs: number, absenceCount: number, jitter: number): number {
  const factor = Math.min(factorMax, 2 ** Math.max(0, absenceCount - 1));
  return lookMs * (factor - 1) * (0.75 + jitter / 2);
}

// Back-off before a failed server is probed again. It grows with each failure, so that a server that passes probes but
// fails requests costs few requests. Jitter keeps several servers of this program, which lost the vLLM server
// together, from returning to it together.

/** Maximum multiple of the usual pause. */
const factorMax = 8;

/**
 * Returns the wait beyond the usual pause, in milliseconds.
 *
 * @param lookMs the usual pause
 * @param absenceCount number of failures since it last answered a request; the first adds nothing
 * @param jitter random, 0 to 1: scales the wait by 0.75 to 1.25
 */
export function extraBackOffMs(lookMs: number, absenceCount: number, jitter: number): number {
  const factor = Math.min(factorMax, 2 ** Math.max(0, absenceCount - 1));
  return lookMs * (factor - 1) * (0.75 + jitter / 2);
}

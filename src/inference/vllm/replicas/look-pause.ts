// How long a server that went is left alone before it is asked again: longer each time, so that one that is well when it is
// looked at and fails what it is asked costs few requests, and with jitter, so that servers that lost it together do not come
// back to it together.

/** As many times the usual pause at most. */
const factorMax = 8;

/**
 * What is waited beyond the usual pause, in milliseconds.
 *
 * @param lookMs the usual pause
 * @param absenceCount how often it went since it last answered a request; nothing is added the first time
 * @param jitter drawn anew each time, 0 to 1: 0.75 to 1.25 of what is to be waited
 */
export function addedPauseMs(lookMs: number, absenceCount: number, jitter: number): number {
  const factor = Math.min(factorMax, 2 ** Math.max(0, absenceCount - 1));
  return lookMs * (factor - 1) * (0.75 + jitter / 2);
}

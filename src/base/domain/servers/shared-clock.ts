// The time by which all servers on a database go: leases, holds and ends are compared with what others wrote, and each
// machine's own clock may be wrong.
import type { Clock } from "../clock.ts";

export interface SharedClock extends Clock {
  /** Sets it right; until then it goes on from where it was set the last time. Rejects where nothing says what time it is. */
  synchronize(): Promise<void>;
  /** How far ahead of it this machine's own clock is, in milliseconds; negative is behind. */
  aheadMs(): number;
}

/** This machine's own clock, where nobody is to share its time. */
export function ownClock(clock: Clock): SharedClock {
  return {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    sleep: (durationMs, options) => clock.sleep(durationMs, options),
    synchronize: () => Promise.resolve(),
    aheadMs: () => 0,
  };
}

// Clock with the database's time, for servers on different machines. Each server periodically compares its monotonic
// clock with the database's time, so setting the clock of a server's machine has no effect.
import { assert } from "../../base/domain/assert.ts";
import type { Clock, SharedClock } from "../../base/domain/clock.ts";

/**
 * Creates the clock with the database's time.
 *
 * @param clock this machine's clock
 * @param readTime asks the database for its time
 * @returns a clock that has no time before the first synchronization
 */
export function createDatabaseClock(clock: Clock, readTime: () => Promise<Date>): SharedClock {
  /** Database time in milliseconds at which the monotonic clock was zero; null before the first synchronization. */
  let startMs: number | null = null;
  const nowMs = (): number => {
    assert(startMs !== null, "it is known what time the database has");
    return startMs + clock.monotonicMs();
  };
  return {
    now: () => new Date(nowMs()),
    monotonicMs: () => clock.monotonicMs(),
    sleep: (durationMs, options) => clock.sleep(durationMs, options),
    synchronize: async () => {
      const askedMs = clock.monotonicMs();
      const time = (await readTime()).getTime();
      // The database read its time after this server asked for it and before the answer arrived. So the estimate must
      // lie between two bounds; it changes only if it is outside them. A slow answer gives bounds that are far apart,
      // and therefore does not make the estimate worse.
      const [earliest, latest] = [time - clock.monotonicMs(), time - askedMs];
      startMs = Math.min(latest, Math.max(earliest, startMs ?? (earliest + latest) / 2));
    },
    aheadMs: () => clock.now().getTime() - nowMs(),
  };
}

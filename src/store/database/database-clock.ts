// The database's time, for servers on other machines. Each server compares its clock with it periodically and uses its
// monotonic clock in between, so setting a machine's clock has no effect.
import { assert } from "../../base/domain/assert.ts";
import type { Clock, SharedClock } from "../../base/domain/clock.ts";

/**
 * @param clock this machine's clock
 * @param readTime asks the database for its time
 * @returns a clock that has no time before the first synchronization
 */
export function createDatabaseClock(clock: Clock, readTime: () => Promise<Date>): SharedClock {
  /** The database's time when the monotonic clock shows zero; null before the first answer. */
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
      // The database read this time between the question and the answer. The estimate changes only if it lies outside
      // that interval: a slow answer does not worsen it, and the clock does not jitter.
      const [earliest, latest] = [time - clock.monotonicMs(), time - askedMs];
      startMs = Math.min(latest, Math.max(earliest, startMs ?? (earliest + latest) / 2));
    },
    aheadMs: () => clock.now().getTime() - nowMs(),
  };
}

// The time of a database, for servers on other machines. Each compares its own clock with it from time to time, and goes by
// the monotonic one between: setting a machine's clock changes nothing.
import { assert } from "../../base/domain/assert.ts";
import type { Clock, SharedClock } from "../../base/domain/clock.ts";

/**
 * @param clock of this machine
 * @param readTime asks the database what time it is
 * @returns a clock that shows nothing before it was synchronized once
 */
export function createDatabaseClock(clock: Clock, readTime: () => Promise<Date>): SharedClock {
  /** The database's time where the monotonic clock shows zero. */
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
      // It was this time at some moment between the question and the answer. What is known stays as long as that may be right,
      // so that a slow answer makes it no worse, and the clock does not tremble.
      const [earliest, latest] = [time - clock.monotonicMs(), time - askedMs];
      startMs = Math.min(latest, Math.max(earliest, startMs ?? (earliest + latest) / 2));
    },
    aheadMs: () => clock.now().getTime() - nowMs(),
  };
}

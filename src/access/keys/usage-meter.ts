// Counts what keys use in memory, and adds it to the database behind the requests, what came in a few seconds at once.
// What a server has not added when it dies is lost; nobody waits for it.
import type { Clock } from "../../base/domain/clock.ts";
import {
  addedUsage,
  dayOf,
  noUsage,
  usageId,
  type UsageCounter,
  type UsageRow,
  type UsageStore,
} from "../../base/domain/keys/usage.ts";
import { serviceOf, type Service } from "../../base/domain/lifecycle.ts";

export interface UsageMeterDependencies {
  readonly store: Pick<UsageStore, "add">;
  readonly clock: Clock;
  /** Called with what keeps counts from being added; they are added later. */
  readonly onFault: (error: unknown) => void;
}

export type UsageMeter = UsageCounter & Service;

/** How long counts are gathered, and the least between two tries. */
const gatherMs = 5000;
/** Of one transaction. */
const rowsMax = 300;

/** Writes nothing while nothing is counted; `stop` resolves when all was added, or could not be. */
export function createUsageMeter({ store, clock, onFault }: UsageMeterDependencies): UsageMeter {
  const closing = new AbortController();
  /** What is to be added, by the id of its row. */
  const waiting = new Map<string, UsageRow>();
  let writing: Promise<void> | null = null;

  const add = (row: UsageRow): void => {
    const id = usageId(row);
    const before = waiting.get(id) ?? noUsage;
    waiting.set(id, { ...row, ...addedUsage(before, row) });
  };
  const writeSome = async (): Promise<boolean> => {
    const rows = [...waiting.entries()].slice(0, rowsMax);
    for (const [id] of rows) waiting.delete(id);
    try {
      await store.add(rows.map(([, row]) => row));
      return true;
    } catch (error) {
      // Nothing of it was added.
      for (const [, row] of rows) add(row);
      onFault(error);
      return false;
    }
  };
  const writeAll = async (): Promise<void> => {
    let isAway = false;
    while (waiting.size > 0 && !(isAway && closing.signal.aborted)) {
      // Ends at once when the server stops.
      await clock.sleep(gatherMs, { signal: closing.signal }).catch(() => undefined);
      do isAway = !(await writeSome());
      while (!isAway && waiting.size >= rowsMax);
    }
    writing = null;
  };

  return {
    ...serviceOf("usage of keys", {
      stop: async () => {
        closing.abort();
        await writing;
      },
    }),
    count: (by, counts) => {
      add({ ...by, day: dayOf(clock.now()), ...addedUsage(noUsage, counts) });
      writing ??= writeAll();
    },
  };
}

// What is noted of keys behind their requests: when each was last used, and how much.
import type { KeyStore } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { serviceOf, type Service } from "../../base/domain/lifecycle.ts";
import {
  addedUsage,
  dayOf,
  noUsage,
  usageId,
  type UsageCounter,
  type UsageRow,
  type UsageStore,
} from "../../base/domain/keys/usage.ts";

interface KeyUseDependencies {
  readonly keys: Pick<KeyStore, "markUsed">;
  readonly clock: Clock;
  /** Called with what keeps a time from being written; the next request of the key tries again. */
  readonly onFault: (error: unknown) => void;
}

export interface KeyUse extends Service {
  /** That a request came with the key. Never throws and never waits. */
  note(keyId: string): void;
}

/** How precise the time is. */
const preciseMs = 60_000;
/** So that what comes at once is written at once. */
const gatherMs = 1000;
/** Of one statement. */
const idsMax = 1000;
/** Keys that are remembered; beyond it the one that was noted longest ago is forgotten, and written once more. */
const keysMax = 100_000;

/**
 * When keys were last used: noted as requests come, and written behind them, once a minute for each key.
 * Writes nothing while no request comes; `stop` resolves when all that was noted is written.
 */
export function createKeyUse({ keys, clock, onFault }: KeyUseDependencies): KeyUse {
  const closing = new AbortController();
  /** By key, when it was noted on the monotonic clock, in that order. */
  const noted = new Map<string, number>();
  const waiting = new Set<string>();
  let writing: Promise<void> | null = null;

  const writeAll = async (): Promise<void> => {
    while (waiting.size > 0) {
      // Ends at once when the server stops.
      await clock.sleep(gatherMs, { signal: closing.signal }).catch(() => undefined);
      const ids = [...waiting].slice(0, idsMax);
      for (const id of ids) waiting.delete(id);
      try {
        await keys.markUsed(ids, clock.now());
      } catch (error) {
        for (const id of ids) noted.delete(id);
        onFault(error);
      }
    }
    writing = null;
  };

  return {
    ...serviceOf("last use of keys", {
      stop: async () => {
        closing.abort();
        await writing;
      },
    }),
    note: (keyId) => {
      const nowMs = clock.monotonicMs();
      const before = noted.get(keyId);
      if (before !== undefined && nowMs - before < preciseMs) return;
      noted.delete(keyId);
      noted.set(keyId, nowMs);
      for (const oldest of noted.keys()) {
        if (noted.size <= keysMax) break;
        noted.delete(oldest);
      }
      waiting.add(keyId);
      writing ??= writeAll();
    },
  };
}

interface UsageMeterDependencies {
  readonly store: Pick<UsageStore, "add">;
  readonly clock: Clock;
  /** Called with what keeps counts from being added; they are added later. */
  readonly onFault: (error: unknown) => void;
}

type UsageMeter = UsageCounter & Service;

/** How long counts are gathered, and the least between two tries. */
const usageGatherMs = 5000;
/** Of one transaction. */
const rowsMax = 300;

/**
 * Counts what keys use in memory, and adds it to the database behind the requests, what came in a few seconds at once. What a
 * server has not added when it dies is lost; nobody waits for it. Writes nothing while nothing is counted; `stop` resolves
 * when all was added, or could not be.
 */
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
      await clock.sleep(usageGatherMs, { signal: closing.signal }).catch(() => undefined);
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

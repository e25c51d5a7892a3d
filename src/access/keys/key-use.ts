// Records when each API key was last used, and how many requests and tokens it used. Requests do not wait for the
// database writes.
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
  /** Receives the error of a failed write of last-use times. The key's next request retries. */
  readonly onFault: (error: unknown) => void;
}

export interface KeyUse extends Service {
  /** Records in memory that the key was used now. Never throws and never waits. */
  note(keyId: string): void;
}

/** Minimum time in milliseconds between two writes of a key's last use. */
const preciseMs = 60_000;
/**
 * Time in milliseconds that a write waits after the first recorded use of a key, so that it also stores the uses of
 * other keys in this time.
 */
const gatherMs = 1000;
/** Maximum number of key ids in one SQL statement. */
const idsMax = 1000;
/**
 * Maximum number of keys whose last use is remembered. Beyond this number, the key with the oldest use is forgotten,
 * so its next use causes a write.
 */
const keysMax = 100_000;

/**
 * Records when keys were last used. Requests record the use in memory; a later write stores it, at most once a minute
 * per key. `stop` resolves when all recorded uses are written.
 */
export function createKeyUse({ keys, clock, onFault }: KeyUseDependencies): KeyUse {
  const closing = new AbortController();
  /** Time of each key's last recorded use on the monotonic clock, ordered from oldest to newest. */
  const noted = new Map<string, number>();
  const waiting = new Set<string>();
  let writing: Promise<void> | null = null;

  const writeAll = async (): Promise<void> => {
    while (waiting.size > 0) {
      // `stop` aborts the sleep, so that the server does not wait to write the last uses.
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
  /** Receives the error of a failed write of usage. The next write includes the same amounts again. */
  readonly onFault: (error: unknown) => void;
}

type UsageMeter = UsageCounter & Service;

/**
 * Time in milliseconds during which usage is collected before each write; also the minimum pause after a failed write.
 */
const usageGatherMs = 5000;
/** Maximum number of rows written in one transaction. */
const rowsMax = 300;

/**
 * Counts the usage of keys in memory, and adds new usage to the database every few seconds. Requests never wait for
 * these writes; usage not yet written is lost if the server dies. `stop` resolves after the final write, even if that
 * write fails.
 */
export function createUsageMeter({ store, clock, onFault }: UsageMeterDependencies): UsageMeter {
  const closing = new AbortController();
  /** Usage that is not in the database yet, by the id of the database row to which it will be added. */
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
      // The transaction failed and was rolled back, so the usage is counted in memory again.
      for (const [, row] of rows) add(row);
      onFault(error);
      return false;
    }
  };
  const writeAll = async (): Promise<void> => {
    let isAway = false;
    while (waiting.size > 0 && !(isAway && closing.signal.aborted)) {
      // `stop` aborts the sleep, so that the server does not wait to write the last usage.
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

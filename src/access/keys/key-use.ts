// When keys were last used: noted as requests come, and written behind them, once a minute for each key.
import type { KeyStore } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { serviceOf, type Service } from "../../base/domain/lifecycle.ts";

export interface KeyUseDependencies {
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

/** Writes nothing while no request comes; `stop` resolves when all that was noted is written. */
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

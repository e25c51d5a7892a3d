// Enforces storage quotas of entities. Reads an entity's usage before each write, and caches it for a short time.
// Concurrent writes, on this server or others, may therefore exceed a quota by their own size.
import type { Clock } from "../../base/domain/clock.ts";
import { fullError, type StorageRoom } from "../../base/domain/retention/storage-room.ts";
import type { RetentionStore } from "../../base/domain/retention/retention-store.ts";
import { invalid, type ServiceError } from "../../base/domain/service-error.ts";
import type { Metrics } from "../../base/telemetry/metrics.ts";
import { readSize } from "../../base/domain/text/size-text.ts";
import type { RetentionSettings } from "./settings.ts";

export interface QuotaDependencies {
  readonly store: Pick<RetentionStore, "stored">;
  readonly settings: Pick<RetentionSettings, "entityBytes" | "usedSeconds">;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

export interface StorageQuotas extends StorageRoom {
  /** Returns the quota of an entity in bytes; null if unlimited. */
  quotaOf(entity: string): number | null;
}

interface Look {
  readonly atMs: number;
  readonly usedBytes: Promise<number>;
}

/** Maximum number of entities whose usage is cached. */
const looksMax = 10_000;

/**
 * Creates the storage quotas from the settings.
 *
 * @throws ServiceError `invalid` for an invalid quota
 */
export function createStorageQuotas({ store, settings, clock, metrics }: QuotaDependencies): StorageQuotas {
  const quotas = readQuotas(settings.entityBytes);
  const looks = new Map<string, Look>();
  const refusals = metrics.counter({
    name: "hone_storage_refusals_total",
    help: "What was not stored since its entity has as much as it may have.",
  });

  const quotaOf = (entity: string): number | null => {
    const bytes = quotas.byEntity.get(entity) ?? quotas.others;
    return bytes === 0 ? null : bytes;
  };
  const usedBytes = (entity: string): Promise<number> => {
    const now = clock.monotonicMs();
    const last = looks.get(entity);
    if (last !== undefined && now - last.atMs < settings.usedSeconds * 1000) return last.usedBytes;
    const used = store
      .stored(entity)
      .then((bytes) => Object.values(bytes).reduce((sum, one) => sum + one, 0));
    // Moves the entry to the end of the cache, so that the least recently read entry comes first. Failed reads are not
    // cached.
    looks.delete(entity);
    looks.set(entity, { atMs: now, usedBytes: used });
    used.catch(() => looks.delete(entity));
    const [oldest] = looks.keys();
    if (looks.size > looksMax && oldest !== undefined) looks.delete(oldest);
    return used;
  };
  return {
    quotaOf,
    require: async (entity) => {
      const quota = quotaOf(entity);
      if (quota === null) return;
      const used = await usedBytes(entity);
      if (used < quota) return;
      refusals.increase();
      throw fullError(entity, used, quota);
    },
  };
}

interface QuotaTable {
  readonly byEntity: ReadonlyMap<string, number>;
  /** Quota in bytes of each entity that the setting does not name; 0 for unlimited. */
  readonly others: number;
}

/**
 * Parses the setting with the quotas of entities.
 *
 * @throws ServiceError `invalid` for an invalid quota
 */
function readQuotas(given: readonly string[]): QuotaTable {
  const byEntity = new Map<string, number>();
  let others = 0;
  for (const text of given) {
    const split = text.indexOf("=");
    const bytes = readSize(text.slice(split + 1));
    if (split === 0 || bytes === null) throw invalidQuota(text);
    if (split < 0) others = bytes;
    else byEntity.set(text.slice(0, split), bytes);
  }
  return { byEntity, others };
}

function invalidQuota(text: string): ServiceError {
  const message = `retention.entityBytes has ${JSON.stringify(text)}; it takes bytes for all entities, such as 50GB, and for single ones, such as acme=20GB, acme=5000000 or acme=0 for no limit.`;
  return invalid(message);
}

// The location of the audit log, and wrappers of the key and limit stores that record each change in it. Used by the
// server and by `hone keys`.
import { join } from "node:path";
import type { AccessKey, KeyStore } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { LimitStore } from "../../base/domain/keys/limits.ts";
import type { AuditEntry, AuditFile } from "../../base/telemetry/audit-log.ts";
import type { HoneConfig } from "./config.ts";

/** Rotation of the audit log. It takes at most 80 MiB of disk, even if many requests are refused. */
const rotation = { bytesMax: 16 * 1024 ** 2, keptCount: 4 };

/** Returns the location and rotation of a data folder's audit log. */
export function auditFile({ server: { data } }: Pick<HoneConfig, "server">): AuditFile {
  return { path: join(data, "audit.jsonl"), ...rotation };
}

type RecordEntry = (entry: AuditEntry) => Promise<void>;

/**
 * Returns the key store, wrapped so that the log records each creation, change, rotation and revocation: `begun`
 * before it, and `done` or `failed` after it. If `begun` cannot be written, the change is refused, so no change goes
 * unrecorded.
 *
 * @param record rejects if the log cannot be written
 */
export function auditedKeys(keys: KeyStore, record: RecordEntry, clock: Clock): KeyStore {
  const audited = <T>(
    action: string,
    { id: keyId, entity }: Pick<AccessKey, "id" | "entity">,
    change: () => Promise<T>,
  ): Promise<T> => recorded({ record, clock }, { action, keyId, entity }, change);
  return {
    ...keys,
    create: (key) => audited("key-created", key, () => keys.create(key)),
    change: async (id, choices) => {
      const key = await liveKey(keys, id);
      return key && (await audited("key-changed", key, () => keys.change(id, choices)));
    },
    rotate: async (id, secretHash, until) => {
      const key = await liveKey(keys, id);
      return key && (await audited("key-rotated", key, () => keys.rotate(id, secretHash, until)));
    },
    revoke: async (id, at) => {
      const key = await liveKey(keys, id);
      return key !== null && (await audited("key-revoked", key, () => keys.revoke(id, at)));
    },
  };
}

/** Returns the limit store, wrapped like the key store, so that the log records each change of an entity's limits. */
export function auditedLimits(limits: LimitStore, record: RecordEntry, clock: Clock): LimitStore {
  return {
    ...limits,
    changeEntityLimits: (entity, changes) =>
      recorded({ record, clock }, { action: "entity-limits-changed", keyId: null, entity }, () =>
        limits.changeEntityLimits(entity, changes),
      ),
  };
}

async function recorded<T>(
  { record, clock }: { readonly record: RecordEntry; readonly clock: Clock },
  about: Pick<AuditEntry, "action" | "keyId" | "entity">,
  change: () => Promise<T>,
): Promise<T> {
  const write = async (outcome: string): Promise<void> =>
    await record({ time: clock.now(), address: null, outcome, requestId: null, ...about });
  let result: T;
  try {
    await write("begun");
    result = await change();
  } catch (error) {
    // A line `begun` whose write failed may still reach the file. The line `failed` says that nothing was changed.
    await write("failed").catch(isBegunAnyway);
    throw error;
  }
  await write("done").catch(isBegunAnyway);
  return result;
}

/** Ignores a failed write of the outcome: the line `begun` is in the log, and the caller must receive the new key. */
function isBegunAnyway(): void {}

async function liveKey(keys: KeyStore, id: string): Promise<AccessKey | null> {
  const key = await keys.find(id);
  return key?.revokedAt === null ? key : null;
}

// The audit log's file, and stores of keys and limits that record changes in it. Used by the server and by `hone
// keys`.
import { join } from "node:path";
import type { AccessKey, KeyStore } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { LimitStore } from "../../base/domain/keys/limits.ts";
import type { AuditEntry, AuditFile } from "../../base/telemetry/audit-log.ts";
import type { HoneConfig } from "./config.ts";

/** Limits the log to 80 MiB of disk, even under many refused requests. */
const rotation = { bytesMax: 16 * 1024 ** 2, keptCount: 4 };

/** Returns the audit log of a data folder. */
export function auditFile({ server: { data } }: Pick<HoneConfig, "server">): AuditFile {
  return { path: join(data, "audit.jsonl"), ...rotation };
}

type RecordEntry = (entry: AuditEntry) => Promise<void>;

/**
 * Returns the store with every creation, change and revocation recorded: `begun` before it, `done` or `failed` after
 * it. If the log cannot be written, nothing is changed, so no change goes unrecorded.
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

/** Returns the store with every change of an entity's limits recorded the same way. */
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
    // A delayed line `begun` may still be written, and must not suggest that the change was made.
    await write("failed").catch(isBegunAnyway);
    throw error;
  }
  await write("done").catch(isBegunAnyway);
  return result;
}

/** The log has a line about the change, and the owner must receive the new key. */
function isBegunAnyway(): void {}

async function liveKey(keys: KeyStore, id: string): Promise<AccessKey | null> {
  const key = await keys.find(id);
  return key?.revokedAt === null ? key : null;
}

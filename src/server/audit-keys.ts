// Where the audit log is, and a key store that writes its changes there. Made by the server and by `hone keys` alike.
import { join } from "node:path";
import type { AccessKey, KeyStore } from "../domain/access.ts";
import type { Clock } from "../domain/clock.ts";
import type { AuditEntry, AuditFile } from "../telemetry/audit-log.ts";
import type { HoneConfig } from "./config.ts";

/** So that the log takes at most 80 MiB of the disk, whoever is refused how often. */
const rotation = { bytesMax: 16 * 1024 ** 2, keptCount: 4 };

/** The audit log of a data folder. */
export function auditFile({ server: { data } }: HoneConfig): AuditFile {
  return { path: join(data, "audit.jsonl"), ...rotation };
}

/**
 * The store, with every key that comes or goes recorded: `begun` before it, `done` or `failed` after it. What cannot be
 * recorded is not begun, so that no key changes without a line.
 *
 * @param record rejects when the log cannot be written
 */
export function auditedKeys(
  keys: KeyStore,
  record: (entry: AuditEntry) => void | Promise<void>,
  clock: Clock,
): KeyStore {
  const audited = async <T>(
    action: string,
    { id: keyId, entity }: Pick<AccessKey, "id" | "entity">,
    change: () => Promise<T>,
  ): Promise<T> => {
    const write = async (outcome: string): Promise<void> =>
      await record({ time: clock.now(), keyId, entity, address: null, action, outcome, requestId: null });
    await write("begun");
    try {
      const result = await change();
      await write("done").catch(isBegunAnyway);
      return result;
    } catch (error) {
      await write("failed").catch(isBegunAnyway);
      throw error;
    }
  };
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

/** The log has a line of the change, and a key that was made must reach its owner. */
function isBegunAnyway(): void {}

async function liveKey(keys: KeyStore, id: string): Promise<AccessKey | null> {
  const key = await keys.find(id);
  return key?.revokedAt === null ? key : null;
}

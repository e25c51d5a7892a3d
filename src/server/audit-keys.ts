// Where the audit log is, and a key store that writes its changes there. Made by the server and by `hone keys` alike.
import { join } from "node:path";
import type { KeyStore } from "../domain/access.ts";
import type { Clock } from "../domain/clock.ts";
import type { AuditEntry, AuditFile } from "../telemetry/audit-log.ts";
import type { HoneConfig } from "./config.ts";

export function auditFile({ server: { data, auditFileBytes, auditFiles } }: HoneConfig): AuditFile {
  return { path: join(data, "audit.jsonl"), bytesMax: auditFileBytes, keptCount: auditFiles };
}

/** The store, with every key that comes or goes recorded once that is done. */
export function auditedKeys(
  keys: KeyStore,
  record: (entry: AuditEntry) => void | Promise<void>,
  clock: Clock,
): KeyStore {
  const done = async (action: string, keyId: string, entity: string | null): Promise<void> =>
    await record({
      time: clock.now(),
      keyId,
      entity,
      address: null,
      action,
      outcome: "done",
      requestId: null,
    });
  return {
    ...keys,
    create: async (key) => {
      await keys.create(key);
      await done("key-created", key.id, key.entity);
    },
    revoke: async (id, at) => {
      const isRevoked = await keys.revoke(id, at);
      if (isRevoked) await done("key-revoked", id, null);
      return isRevoked;
    },
  };
}

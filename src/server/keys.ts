// What `hone keys` does in a data folder, beside a running server or without one.
import type { AccessKey, KeyRole, KeyStore } from "../domain/access.ts";
import { systemClock } from "../domain/clock.ts";
import { newUuid } from "../domain/ids.ts";
import { allItems } from "../domain/page.ts";
import { notFound, ServiceError } from "../domain/service-error.ts";
import { appendEntries, type AuditEntry } from "../telemetry/audit-log.ts";
import { auditedKeys, auditFile } from "./audit-keys.ts";
import { readConfig, type HoneConfig } from "./config.ts";
import { databasePlace } from "./database-place.ts";
import { keyOf, newSecret } from "./key-secret.ts";
import { keepNewFilesPrivate } from "./private-files.ts";

export interface NewKey {
  readonly key: AccessKey;
  /** Shown once; only its hash is kept. */
  readonly secret: string;
}

interface DataFlags {
  readonly data?: string;
}

/** Makes a key in a data folder. */
export function createKey(
  flags: DataFlags & { readonly entity?: string; readonly owner?: string; readonly role: string },
): Promise<NewKey> {
  const role: KeyRole | null = flags.role === "member" || flags.role === "admin" ? flags.role : null;
  if (role === null)
    throw new ServiceError({
      code: "invalid",
      message: `--role is ${JSON.stringify(flags.role)}; it must be member or admin.`,
    });
  return withKeys(flags, async (keys, config) => {
    const secret = newSecret();
    const entity = flags.entity ?? config.server.entity;
    const key = keyOf(secret, { id: newUuid(), entity, role, owner: flags.owner ?? entity }, systemClock);
    await keys.create(key);
    return { key, secret };
  });
}

/** The keys of a data folder, revoked ones too. */
export function listKeys(flags: DataFlags): Promise<readonly AccessKey[]> {
  return withKeys(flags, async (keys) => {
    const listed: AccessKey[] = [];
    for await (const key of allItems((page) => keys.list(page))) listed.push(key);
    return listed;
  });
}

/** Revokes a key; a running server refuses it from the next request on, and ends its running answers. */
export function revokeKey(id: string, flags: DataFlags): Promise<void> {
  return withKeys(flags, async (keys) => {
    if (!(await keys.revoke(id, systemClock.now()))) throw notFound("live key", id);
  });
}

/** Only where there is a database: one made for a mistyped folder would hold a key that no server knows. */
async function withKeys<T>(
  flags: DataFlags,
  use: (keys: KeyStore, config: HoneConfig) => Promise<T>,
): Promise<T> {
  const config = readConfig(flags.data === undefined ? {} : { data: flags.data });
  const place = databasePlace(config);
  if (!place.exists()) {
    const message = `There is no database ${place.name}. Name the data folder of a server with --data, or start \`hone serve\` on this one first.`;
    throw new ServiceError({ code: "not_found", message });
  }
  keepNewFilesPrivate();
  const database = await place.open({ isShared: true });
  try {
    const file = auditFile(config);
    const record = (entry: AuditEntry): Promise<void> =>
      appendEntries(file, [entry]).catch((cause: unknown) => {
        throw notRecorded(file.path, cause);
      });
    return await use(auditedKeys(database.keys, record, systemClock), config);
  } finally {
    await database.close();
  }
}

function notRecorded(path: string, cause: unknown): ServiceError {
  const message = `No key was changed: ${path} cannot be written (${String(cause)}), and every change must stand there. Make it writable, or make room, and try again.`;
  return new ServiceError({ code: "unavailable", message, cause });
}

// Keys from the outside: the first one at start, and what `hone keys` does in a data folder, beside a running server or without one.
import { chmod, writeFile } from "node:fs/promises";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { hashSecret, type AccessKey, type KeyRole, type KeyStore } from "../domain/access.ts";
import { systemClock, type Clock } from "../domain/clock.ts";
import { newUuid } from "../domain/ids.ts";
import { allItems } from "../domain/page.ts";
import { notFound, ServiceError } from "../domain/service-error.ts";
import { openDatabase } from "../storage/database.ts";
import { readConfig, type HoneConfig } from "./config.ts";
import { newSecret } from "./key-secret.ts";

export interface NewKey {
  readonly key: AccessKey;
  /** Shown once; only its hash is kept. */
  readonly secret: string;
}

/** The secret of the first admin key, and whether this call made it. */
export interface FirstKey {
  readonly secret: string | null;
  readonly isNew: boolean;
}

/** Where the first key's secret is kept, readable by its owner only. */
export function adminKeyFile(dataFolder: string): string {
  return join(dataFolder, "admin-key");
}

/**
 * Makes sure that somebody can get in: `HONE_API_KEY` becomes an admin key; without it, and without any live
 * key in the store, a key is made and kept in `<data>/admin-key`.
 */
export async function ensureFirstKey(keys: KeyStore, config: HoneConfig, clock: Clock): Promise<FirstKey> {
  const { apiKey, data, entity } = config.server;
  if (apiKey !== null) {
    if (apiKey.length < 8)
      throw new ServiceError({ code: "invalid", message: "HONE_API_KEY must have at least 8 characters." });
    if ((await keys.findByHash(hashSecret(apiKey))) === null)
      await keys.create(describeKey(apiKey, { entity, role: "admin" }, clock));
    return { secret: apiKey, isNew: false };
  }
  const file = adminKeyFile(data);
  if (await hasLiveKey(keys)) {
    return { secret: existsSync(file) ? readFileSync(file, "utf8").trim() : null, isNew: false };
  }
  const secret = newSecret();
  // The file is written first: a key in the store whose secret nobody has would lock everyone out.
  await writeFile(file, `${secret}\n`, { mode: 0o600 });
  await chmod(file, 0o600);
  await keys.create(describeKey(secret, { entity, role: "admin" }, clock));
  return { secret, isNew: true };
}

async function hasLiveKey(keys: KeyStore): Promise<boolean> {
  for await (const key of allItems((page) => keys.list(page))) if (key.revokedAt === null) return true;
  return false;
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
    const key = describeKey(
      secret,
      { entity, role, ...(flags.owner === undefined ? {} : { owner: flags.owner }) },
      systemClock,
    );
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

/** Revokes a key; a running server refuses it from the next request on. */
export function revokeKey(id: string, flags: DataFlags): Promise<void> {
  return withKeys(flags, async (keys) => {
    if (!(await keys.revoke(id, systemClock.now()))) throw notFound("live key", id);
  });
}

function describeKey(
  secret: string,
  about: { readonly entity: string; readonly role: KeyRole; readonly owner?: string },
  clock: Clock,
): AccessKey {
  return {
    id: newUuid(),
    entity: about.entity,
    role: about.role,
    owner: about.owner ?? about.entity,
    secretHash: hashSecret(secret),
    createdAt: clock.now(),
    revokedAt: null,
  };
}

async function withKeys<T>(
  flags: DataFlags,
  use: (keys: KeyStore, config: HoneConfig) => Promise<T>,
): Promise<T> {
  const config = readConfig(flags.data === undefined ? {} : { data: flags.data });
  const database = await openDatabase({ file: databaseFile(config), isShared: true });
  try {
    return await use(database.keys, config);
  } finally {
    await database.close();
  }
}

/** The SQLite file that the configuration names. */
export function databaseFile(config: HoneConfig): string {
  const { databaseUrl, data } = config.server;
  return databaseUrl === null ? join(data, "hone.db") : resolve(databaseUrl.replace(/^file:(\/\/)?/, ""));
}

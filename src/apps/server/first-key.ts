// The first admin key. Each start ensures that an administrator has access, and that a replaced key no longer gives
// access.
import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { endOf, hashSecret, type AccessKey, type KeyStore } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { allItems } from "../../base/domain/page.ts";
import { invalid, ServiceError } from "../../base/domain/service-error.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import { isOfStart, keyOf, newSecret, newStartKeyId } from "../../access/keys/key-secret.ts";
import type { HoneConfig } from "./config.ts";

/** Secret of the first admin key, and whether this start created it. */
export interface FirstKey {
  /** Secret; null if it is unknown, because only its hash is stored, or if no key is needed. */
  readonly secret: string | null;
  readonly isNew: boolean;
  /** Text that says where the key is, such as a path. */
  readonly place: string;
}

export interface FirstKeyDependencies {
  readonly keys: KeyStore;
  readonly settings: Pick<HoneConfig["server"], "apiKey" | "auth" | "data" | "entity">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Length below which a secret causes a warning, because it could be guessed. 20 base-62 characters have 119 bits of
 * entropy.
 */
const recommendedLength = 20;

/** Returns the path of the file with the first key's secret. Only its owner can read the file. */
function adminKeyFile(dataFolder: string): string {
  return join(dataFolder, "admin-key");
}

/**
 * Ensures that an administrator has access. `HONE_API_KEY` becomes an admin key and replaces the key of an earlier
 * start. If `HONE_API_KEY` is not set and no admin key is valid, creates a key in `<data>/admin-key`, unless
 * authentication is off.
 *
 * @throws ServiceError `invalid` if `HONE_API_KEY` is too short, `conflict` if it was revoked, has expired or belongs
 * to a member
 */
export async function ensureFirstKey(dependencies: FirstKeyDependencies): Promise<FirstKey> {
  const { keys, settings } = dependencies;
  if (settings.apiKey !== null) {
    await setFirstKey(dependencies, settings.apiKey);
    return { secret: settings.apiKey, isNew: false, place: "HONE_API_KEY" };
  }
  const file = adminKeyFile(settings.data);
  if ((await liveAdminKeys(dependencies)).length > 0) {
    const secret = await readFile(file, "utf8").then(
      (text) => text.trim(),
      // The file may be missing: the owner may have moved the secret elsewhere.
      () => null,
    );
    const place =
      secret === null ? "with the person who created it; `hone keys create` creates another" : file;
    return { secret, isNew: false, place };
  }
  if (settings.auth === "off") return { secret: null, isNew: false, place: "none is needed" };
  const secret = newSecret();
  // The file is written before the key is stored. Otherwise, after a crash in between, there would be a valid key whose
  // secret nobody has, and the next start would not create another.
  await writeFile(file, `${secret}\n`, { mode: 0o600 });
  await chmod(file, 0o600);
  await keys.create(firstKey(dependencies, secret));
  return { secret, isNew: true, place: file };
}

async function setFirstKey(dependencies: FirstKeyDependencies, secret: string): Promise<void> {
  const { keys, settings, clock, logger } = dependencies;
  if (secret.length < 8) throw invalid("HONE_API_KEY must have at least 8 characters.");
  if (secret.length < recommendedLength)
    logger.warn(
      { characters: secret.length },
      `HONE_API_KEY is short enough to be guessed; use ${recommendedLength} or more random characters`,
    );
  const known = await keys.findByHash(hashSecret(secret));
  if (known !== null && known.role !== "admin") {
    const message = `HONE_API_KEY is the key ${known.id} of a member of ${JSON.stringify(known.entity)}; use another.`;
    throw new ServiceError({ code: "conflict", message });
  }
  if (known !== null && endOf(known, hashSecret(secret), clock.now()) !== null) {
    const message = `HONE_API_KEY is the key ${known.id}, which has expired or was rotated; use another.`;
    throw new ServiceError({ code: "conflict", message });
  }
  const key = known ?? firstKey(dependencies, secret);
  // Ignores the error if another server has just created the same key.
  if (known === null)
    await keys.create(key).catch(async (error: unknown) => {
      if ((await keys.findByHash(key.secretHash)) === null) throw error;
    });
  const others = (await liveAdminKeys(dependencies)).filter(
    ({ id, secretHash }) => id !== key.id && secretHash !== key.secretHash,
  );
  const kept = await secretHashIn(adminKeyFile(settings.data));
  for (const { id, secretHash } of others) {
    if (!isOfStart(id) && secretHash !== kept) {
      if (known === null)
        logger.warn({ keyId: id }, "another admin key is valid; `hone keys revoke` revokes it");
      continue;
    }
    await keys.revoke(id, clock.now());
    logger.warn({ keyId: id }, "HONE_API_KEY has changed: revoked the admin key of an earlier start");
  }
  // Removes the file, because its secret is no longer valid.
  if (kept !== null && kept !== key.secretHash) await rm(adminKeyFile(settings.data), { force: true });
}

async function secretHashIn(file: string): Promise<string | null> {
  return await readFile(file, "utf8").then(
    (text) => hashSecret(text.trim()),
    () => null,
  );
}

/** Returns the valid admin keys whose scopes are not restricted. */
async function liveAdminKeys({
  keys,
  clock,
}: Pick<FirstKeyDependencies, "keys" | "clock">): Promise<readonly AccessKey[]> {
  const live: AccessKey[] = [];
  const now = clock.now();
  for await (const key of allItems((page) => keys.list(page))) {
    const isLive = key.revokedAt === null && endOf(key, key.secretHash, now) === null;
    if (isLive && key.role === "admin" && key.scopes === null) live.push(key);
  }
  return live;
}

function firstKey({ settings: { entity }, clock }: FirstKeyDependencies, secret: string): AccessKey {
  return keyOf(secret, { id: newStartKeyId(), entity, role: "admin", owner: entity }, clock);
}

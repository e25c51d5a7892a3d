// Implements `hone keys` in a data folder, whether or not a server is running there.
import type { AccessKey, KeyChoices, KeyRole, KeyStore } from "../../base/domain/access.ts";
import { keyScopes, type KeyScope } from "../../base/domain/keys/key-scope.ts";
import { type KeyLimits, noLimits } from "../../base/domain/keys/limits.ts";
import { isUuid } from "../../base/domain/random.ts";
import { allItems } from "../../base/domain/page.ts";
import { invalid, quoted, ServiceError } from "../../base/domain/service-error.ts";
import { createEntityLimits, type EntityLimits } from "../../access/keys/limits/entity-limits.ts";
import { createKeyService, type KeyService, type NewKey } from "../../access/keys/key-service.ts";
import { appendEntries, type AuditEntry } from "../../base/telemetry/audit-log.ts";
import { keyAnswer } from "../../api/wire/keys/key.ts";
import { entityLimitsAnswer } from "../../api/wire/keys/limits.ts";
import { auditedKeys, auditedLimits, auditFile } from "./audit-keys.ts";
import { readConfig, type HoneConfig } from "./config.ts";
import { databasePlace } from "./database-place.ts";
import { keepNewFilesPrivate } from "./private-files.ts";

interface DataFlags {
  readonly data?: string;
}

/** Options as the user gave them, with scopes that are not validated yet. */
type WrittenChoices = Partial<Omit<KeyChoices, "scopes">> & { readonly scopes?: readonly string[] | null };

/** Creates a key in a data folder. */
export function createKey(
  flags: DataFlags & {
    readonly entity?: string;
    readonly owner?: string;
    readonly role: string;
    readonly choices?: WrittenChoices;
  },
): Promise<NewKey> {
  const role = roleOf(flags.role);
  const choices = readChoices(flags.choices ?? {});
  return withKeys(flags, ({ service }, config) =>
    service.create({
      name: null,
      expiresAt: null,
      scopes: null,
      project: null,
      ...noLimits,
      ...choices,
      entity: flags.entity ?? config.server.entity,
      owner: flags.owner ?? null,
      role,
    }),
  );
}

/** Returns the keys of a data folder, including revoked ones. */
export function listKeys(flags: DataFlags): Promise<readonly AccessKey[]> {
  return withKeys(flags, ({ keys }) => allKeys(keys));
}

async function allKeys(keys: KeyStore): Promise<readonly AccessKey[]> {
  const listed: AccessKey[] = [];
  for await (const key of allItems((page) => keys.list(page))) listed.push(key);
  return listed;
}

/** Returns the id of the key that the user means by `typed`: the key's id, a prefix of the id, or the key's name. */
async function findKeyId(keys: KeyStore, typed: string): Promise<string> {
  if (isUuid(typed)) return typed;
  const all = await allKeys(keys);
  const live = all.filter(({ name, revokedAt }) => name === typed && revokedAt === null);
  const found = live.length > 0 ? live : all.filter(({ id }) => id.startsWith(typed.toLowerCase()));
  if (found.length === 1 && typed !== "") return found[0].id;
  const what =
    found.length === 0
      ? `No key has this name, or an id that begins with ${quoted(typed)}`
      : `${found.length} keys have the name ${quoted(typed)}, or ids that begin with it; give the whole id`;
  const code = found.length === 0 ? "not_found" : "invalid";
  throw new ServiceError({ code, message: `${what}. \`hone keys list\` lists them.` });
}

/** Changes a key; a running server applies the change from the next request. */
export function changeKey(
  id: string,
  flags: DataFlags & { readonly choices: WrittenChoices },
): Promise<AccessKey> {
  const choices = readChoices(flags.choices);
  return withKeys(flags, async ({ keys, service }) => service.change(await findKeyId(keys, id), choices));
}

export function rotateKey(id: string, flags: DataFlags & { readonly graceSeconds: number }): Promise<NewKey> {
  return withKeys(flags, async ({ keys, service }) =>
    service.rotate(await findKeyId(keys, id), flags.graceSeconds),
  );
}

/** Revokes a key. A running server refuses it from the next request, and aborts its running answers. */
export async function revokeKey(id: string, flags: DataFlags): Promise<void> {
  await withKeys(flags, async ({ keys, service }) => service.revoke(await findKeyId(keys, id)));
}

/** Changes the given limits of an entity, and returns all limits that are set for that entity. */
export async function changeEntityLimits(
  entity: string,
  flags: DataFlags & { readonly limits: Partial<KeyLimits> },
): Promise<ReturnType<typeof entityLimitsAnswer.body>> {
  const limits = await withKeys(flags, ({ entities }) => entities.change(entity, flags.limits));
  return entityLimitsAnswer.body({ entity, ...limits });
}

/** Returns a key as in the API, without its secret. */
export const shownKey = keyAnswer.body;

function roleOf(role: string): KeyRole {
  if (role === "member" || role === "admin") return role;
  const message = `--role is ${JSON.stringify(role)}; it must be member or admin.`;
  throw invalid(message);
}

function readChoices({ scopes, ...choices }: WrittenChoices): Partial<KeyChoices> {
  if (scopes === undefined || scopes === null) return scopes === null ? { ...choices, scopes } : choices;
  return { ...choices, scopes: scopes.map(scopeOf) };
}

function scopeOf(text: string): KeyScope {
  const scope = keyScopes.find((one) => one === text);
  if (scope !== undefined) return scope;
  const message = `--scopes has ${quoted(text)}; each must be one of ${keyScopes.join(", ")}.`;
  throw invalid(message);
}

/**
 * Opens the key store of an existing database. Never creates a database: a new one in a mistyped folder would contain
 * a key that no server knows.
 */
async function withKeys<T>(
  flags: DataFlags,
  use: (
    keys: { readonly keys: KeyStore; readonly service: KeyService; readonly entities: EntityLimits },
    config: HoneConfig,
  ) => Promise<T>,
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
    const keys = auditedKeys(database.keys, record, database.clock);
    const service = createKeyService({ keys, clock: database.clock });
    const entities = createEntityLimits(auditedLimits(database.limits, record, database.clock));
    return await use({ keys, service, entities }, config);
  } catch (error) {
    throw withFlagNames(error);
  } finally {
    await database.close();
  }
}

function notRecorded(path: string, cause: unknown): ServiceError {
  const message = `No key was changed: ${path} cannot be written (${String(cause)}), and every change must be recorded there. Make it writable, or free space, and try again.`;
  return new ServiceError({ code: "unavailable", message, cause });
}

const flagOf: Readonly<Record<string, string>> = {
  name: "--name",
  owner: "--owner",
  expiresAt: "--expires",
  scopes: "--scopes",
  project: "--project",
  graceSeconds: "--grace",
  requestsPerMinute: "--requests-per-minute",
  tokensPerMinute: "--tokens-per-minute",
  concurrentRequests: "--concurrent-requests",
  queuePercent: "--queue-percent",
  queuedJobs: "--queued-jobs",
};

/** Returns the error with the field names in its message replaced by the flags of the command. */
function withFlagNames(error: unknown): unknown {
  if (!(error instanceof ServiceError)) return error;
  const message = error.message.replaceAll(/`(\w+)`/g, (text, field: string) => flagOf[field] ?? text);
  return message === error.message ? error : new ServiceError({ code: error.code, message, cause: error });
}

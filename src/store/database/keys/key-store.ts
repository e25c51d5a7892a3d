// Stores access keys with their limits, and caches recently used keys. Stores only hashes of secrets.
import { sql, type Kysely, type Transaction, type Insertable, type Selectable } from "kysely";
import {
  keyFields,
  type AccessKey,
  type KeyStore,
  type OpeningKey,
  type KeyRole,
} from "../../../base/domain/access.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { GroupCommit, type Outcome } from "../group-commit.ts";
import { readPage, nextSequence } from "../paging.ts";
import type { Schema, AccessKeyTable } from "../schema.ts";
import { columnsOf, type ColumnsOf } from "../columns/resource-columns.ts";
import { type KeyLimits, limitFields, type LimitStore } from "../../../base/domain/keys/limits.ts";

/** Maximum number of access keys that one query looks up. */
const lookupsMax = 500;

/** Creates the key store on a migrated database. */
export function createKeyStore(database: Kysely<Schema>): KeyStore {
  const lookups = new GroupCommit<string, OpeningKey | null>({
    carryOut: (hashes) => findByHashes(database, hashes),
    itemsMax: lookupsMax,
    lengthMax: lookupsMax,
    lengthOf: () => 1,
  });
  /** Begins an update of an access key, which has no effect if the key is revoked. */
  const update = () => database.updateTable("access_keys").where("revoked_at", "is", null);
  return {
    create: (key) => database.transaction().execute((transaction) => insertKey(transaction, key)),
    find: (id) => findKey(database, id),
    // Every request looks up its key, so concurrent lookups share one query. The query starts after all of its requests
    // have arrived, so it sees each key that was revoked before then.
    findByHash: (secretHash) => lookups.add(secretHash),
    findEnded: async (ids, at) => {
      if (ids.length === 0) return [];
      const rows = await database
        .selectFrom("access_keys")
        .select("id")
        .where("id", "in", ids)
        .where((key) =>
          key.or([key("revoked_at", "is not", null), key("expires_at", "<=", at.toISOString())]),
        )
        .execute();
      return rows.map(({ id }) => id);
    },
    list: (page, { entity = null } = {}) => {
      const all = database.selectFrom("access_keys").selectAll();
      return readPage(
        {
          rows: entity === null ? all : all.where("entity", "=", entity),
          orderColumn: "sequence",
          contentColumns: [],
          orderValueOf: async (id) =>
            (
              await database
                .selectFrom("access_keys")
                .select("sequence")
                .where("id", "=", id)
                .executeTakeFirst()
            )?.sequence,
          itemOf: keyOf,
        },
        page,
      );
    },
    change: async (id, choices) => {
      const columns = keyColumns.writeSome(choices);
      // Without columns to change, only reads the key, because an empty update is invalid SQL.
      if (Object.keys(columns).length === 0) return liveOnly(await findKey(database, id));
      const row = await update().set(columns).where("id", "=", id).returningAll().executeTakeFirst();
      return row === undefined ? null : keyOf(row);
    },
    rotate: async (id, secretHash, previousUntil) => {
      const row = await update()
        .set({
          secret_hash: secretHash,
          previous_hash: sql<string>`secret_hash`,
          previous_until: previousUntil.toISOString(),
        })
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst();
      return row === undefined ? null : keyOf(row);
    },
    revoke: async (id, at) => {
      const result = await update()
        .set({ revoked_at: at.toISOString() })
        .where("id", "=", id)
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    markUsed: async (ids, at) => {
      if (ids.length === 0) return;
      const time = at.toISOString();
      await database
        .updateTable("access_keys")
        .set({ last_used_at: time })
        .where("id", "in", ids)
        .where((key) => key.or([key("last_used_at", "is", null), key("last_used_at", "<", time)]))
        .execute();
    },
  };
}

async function findKey(database: Kysely<Schema>, id: string): Promise<AccessKey | null> {
  const row = await database.selectFrom("access_keys").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : keyOf(row);
}

function liveOnly(key: AccessKey | null): AccessKey | null {
  return key?.revokedAt === null ? key : null;
}

async function findByHashes(
  database: Kysely<Schema>,
  hashes: readonly string[],
): Promise<readonly Outcome<OpeningKey | null>[]> {
  const asked = [...new Set(hashes)];
  const rows = await database
    .selectFrom("access_keys")
    .leftJoin("entity_limits", "entity_limits.entity", "access_keys.entity")
    .selectAll("access_keys")
    .select(entityColumns)
    .where((key) => key.or([key("secret_hash", "in", asked), key("previous_hash", "in", asked)]))
    .where("revoked_at", "is", null)
    .execute();
  const keys = rows.map((row) => ({ ...keyOf(row), entityLimits: entityLimitsOf(row) }));
  const found = new Map<string, OpeningKey>();
  for (const key of keys) if (key.previous !== null) found.set(key.previous.secretHash, key);
  // If a hash matches the current secret of one key and the previous secret of another, the key with the current secret
  // takes precedence.
  for (const key of keys) found.set(key.secretHash, key);
  return hashes.map((hash) => ({ result: found.get(hash) ?? null }));
}

async function insertKey(transaction: Transaction<Schema>, key: AccessKey): Promise<void> {
  const result = await transaction
    .insertInto("access_keys")
    .values({ ...rowOf(key), sequence: await nextSequence(transaction, "keys") })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (result.numInsertedOrUpdatedRows === 1n) return;
  throw new ServiceError({
    code: "conflict",
    message: "A key with this id or this secret exists already, or existed and was revoked. Use another.",
  });
}

const keyColumns = columnsOf(keyFields);

function rowOf(key: AccessKey): Omit<Insertable<AccessKeyTable>, "sequence"> {
  return {
    id: key.id,
    entity: key.entity,
    role: key.role,
    owner: key.owner,
    secret_hash: key.secretHash,
    created_at: key.createdAt.toISOString(),
    revoked_at: key.revokedAt?.toISOString() ?? null,
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    previous_hash: key.previous?.secretHash ?? null,
    previous_until: key.previous?.until.toISOString() ?? null,
    ...keyColumns.write(key),
  };
}

function keyOf(row: Selectable<AccessKeyTable>): AccessKey {
  return {
    id: row.id,
    entity: row.entity,
    // Safe cast: `rowOf` wrote this value.
    role: row.role as KeyRole,
    owner: row.owner,
    ...keyColumns.read(row),
    secretHash: row.secret_hash,
    previous:
      row.previous_hash === null || row.previous_until === null
        ? null
        : { secretHash: row.previous_hash, until: new Date(row.previous_until) },
    createdAt: new Date(row.created_at),
    lastUsedAt: dateOf(row.last_used_at),
    revokedAt: dateOf(row.revoked_at),
  };
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}

// Columns with limits. They exist for the key itself and, with the prefix `entity_`, for the key's entity.
type LimitColumns = ColumnsOf<typeof limitFields>;

export const limitColumns = columnsOf(limitFields);
const { names } = limitColumns;

type EntityColumn = {
  [Column in keyof LimitColumns]: `entity_limits.${Column} as entity_${Column}`;
}[keyof LimitColumns];

// Safe cast: the list has one name for each column.
const entityColumns = names.map((name) => `entity_limits.${name} as entity_${name}`) as EntityColumn[];

/**
 * Reads the limits of a key's entity from a row.
 *
 * @param row limits of the entity; all columns are null if the entity has none
 */
function entityLimitsOf(row: {
  readonly [Column in keyof LimitColumns as `entity_${Column}`]: LimitColumns[Column];
}): KeyLimits {
  // Safe cast: the object has a value for each column.
  return limitColumns.read(
    Object.fromEntries(names.map((name) => [name, row[`entity_${name}`]])) as unknown as LimitColumns,
  );
}

interface KeyStores {
  readonly keys: KeyStore;
  readonly limits: LimitStore;
}

/** Number of cached keys at which the whole cache is cleared. */
const keptMax = 10_000;

/**
 * Wraps the stores with a cache of access keys. An entry is valid until the key, or the limits of its entity, change.
 * Must be used only if the database has a single server, because other servers could change keys without clearing this
 * cache.
 */
export function withKeyCache({ keys, limits }: KeyStores): KeyStores {
  let found = new Map<string, OpeningKey>();
  const forget = (): void => {
    found = new Map();
  };
  /** Clears the cache before and after the change, because a lookup during the change may return the old value. */
  const changing = async <Result>(change: Promise<Result>): Promise<Result> => {
    forget();
    return await change.finally(forget);
  };
  return {
    keys: {
      ...keys,
      create: (key) => changing(keys.create(key)),
      findByHash: async (secretHash) => {
        const known = found.get(secretHash);
        if (known !== undefined) return known;
        const before = found;
        const key = await keys.findByHash(secretHash);
        if (key === null || found !== before) return key;
        if (found.size >= keptMax) forget();
        found.set(secretHash, key);
        return key;
      },
      change: (id, choices) => changing(keys.change(id, choices)),
      rotate: (id, secretHash, previousUntil) => changing(keys.rotate(id, secretHash, previousUntil)),
      revoke: (id, at) => changing(keys.revoke(id, at)),
      markUsed: (ids, at) => changing(keys.markUsed(ids, at)),
    },
    limits: {
      ...limits,
      changeEntityLimits: (entity, changed) => changing(limits.changeEntityLimits(entity, changed)),
    },
  };
}

// Access keys. Only the hash of a secret is ever here.
import type { Kysely, Selectable, Transaction } from "kysely";
import type { AccessKey, KeyRole, KeyStore } from "../domain/access.ts";
import { ServiceError } from "../domain/service-error.ts";
import { GroupCommit, type Outcome } from "./group-commit.ts";
import { readPage } from "./paging.ts";
import { nextSequence } from "./sequences.ts";
import type { AccessKeyTable, Schema } from "./schema.ts";

/** Keys looked for by one query. */
const lookupsMax = 500;

/** The key store on a migrated database. */
export function createKeyStore(database: Kysely<Schema>): KeyStore {
  const lookups = new GroupCommit<string, AccessKey | null>({
    carryOut: (hashes) => findByHashes(database, hashes),
    itemsMax: lookupsMax,
    lengthMax: lookupsMax,
    lengthOf: () => 1,
  });
  return {
    create: (key) => database.transaction().execute((transaction) => insertKey(transaction, key)),
    // Every request looks for its key. A lookup begins after it was asked for, so that none finds what was revoked before.
    findByHash: (secretHash) => lookups.add(secretHash),
    findRevoked: async (ids) => {
      if (ids.length === 0) return [];
      const rows = await database
        .selectFrom("access_keys")
        .select("id")
        .where("id", "in", ids)
        .where("revoked_at", "is not", null)
        .execute();
      return rows.map(({ id }) => id);
    },
    list: (page) =>
      readPage(
        {
          rows: database.selectFrom("access_keys").selectAll(),
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
      ),
    revoke: async (id, at) => {
      const result = await database
        .updateTable("access_keys")
        .set({ revoked_at: at.toISOString() })
        .where("id", "=", id)
        .where("revoked_at", "is", null)
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
  };
}

async function findByHashes(
  database: Kysely<Schema>,
  hashes: readonly string[],
): Promise<readonly Outcome<AccessKey | null>[]> {
  const rows = await database
    .selectFrom("access_keys")
    .selectAll()
    .where("secret_hash", "in", [...new Set(hashes)])
    .where("revoked_at", "is", null)
    .execute();
  const keys = new Map(rows.map((row) => [row.secret_hash, keyOf(row)]));
  return hashes.map((hash) => ({ result: keys.get(hash) ?? null }));
}

async function insertKey(transaction: Transaction<Schema>, key: AccessKey): Promise<void> {
  const result = await transaction
    .insertInto("access_keys")
    .values({
      id: key.id,
      sequence: await nextSequence(transaction, "keys"),
      entity: key.entity,
      role: key.role,
      owner: key.owner,
      secret_hash: key.secretHash,
      created_at: key.createdAt.toISOString(),
      revoked_at: key.revokedAt?.toISOString() ?? null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (result.numInsertedOrUpdatedRows === 1n) return;
  throw new ServiceError({
    code: "conflict",
    message: "A key with this id or this secret exists already, or existed and was revoked. Use another.",
  });
}

function keyOf(row: Selectable<AccessKeyTable>): AccessKey {
  return {
    id: row.id,
    entity: row.entity,
    // The column holds what `create` wrote.
    role: row.role as KeyRole,
    owner: row.owner,
    secretHash: row.secret_hash,
    createdAt: new Date(row.created_at),
    revokedAt: row.revoked_at === null ? null : new Date(row.revoked_at),
  };
}

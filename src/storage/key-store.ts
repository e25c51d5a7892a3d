// Access keys. Only the hash of a secret is ever here.
import type { Kysely, Selectable } from "kysely";
import type { AccessKey, KeyRole, KeyStore } from "../domain/access.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { AccessKeyTable, Schema } from "./schema.ts";

/** The key store on a migrated database. */
export function createKeyStore(database: Kysely<Schema>): KeyStore {
  return {
    create: async (key) => {
      const result = await database
        .insertInto("access_keys")
        .values({
          id: key.id,
          entity: key.entity,
          role: key.role,
          owner: key.owner,
          secret_hash: key.secretHash,
          created_at: key.createdAt.toISOString(),
          revoked_at: key.revokedAt?.toISOString() ?? null,
        })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      if (result.numInsertedOrUpdatedRows !== 1n) {
        throw new ServiceError({
          code: "conflict",
          message:
            "A key with this id or this secret exists already, or existed and was revoked. Use another.",
        });
      }
    },
    findByHash: async (secretHash) => {
      const row = await database
        .selectFrom("access_keys")
        .selectAll()
        .where("secret_hash", "=", secretHash)
        .where("revoked_at", "is", null)
        .executeTakeFirst();
      return row === undefined ? null : keyOf(row);
    },
    list: async () => {
      const rows = await database.selectFrom("access_keys").selectAll().orderBy("position").execute();
      return rows.map(keyOf);
    },
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

// Stores the servers that have a lease, and the base models on which each server can run jobs.
import type { Kysely } from "kysely";
import type { ServerStore } from "../../base/domain/servers/server-store.ts";
import type { Schema } from "./schema.ts";

/** Creates the server store on a migrated database. */
export function createServerStore(database: Kysely<Schema>): ServerStore {
  return {
    create: (id, { until, baseModels, artifacts }) =>
      database.transaction().execute(async (transaction) => {
        const lease = { id, lease_until: until.toISOString(), artifacts };
        await transaction.insertInto("servers").values(lease).execute();
        for (const base of new Set(baseModels))
          await transaction.insertInto("server_bases").values({ server_id: id, base_model: base }).execute();
      }),
    renew: async (id, until) => {
      const result = await database
        .updateTable("servers")
        .set({ lease_until: until.toISOString() })
        .where("id", "=", id)
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    has: async (id) =>
      (await database.selectFrom("servers").select("id").where("id", "=", id).executeTakeFirst()) !==
      undefined,
    serves: async (baseModel, at) =>
      (await database
        .selectFrom("servers")
        .innerJoin("server_bases", "server_bases.server_id", "servers.id")
        .select("servers.id")
        .where("server_bases.base_model", "=", baseModel)
        .where("servers.lease_until", ">=", at.toISOString())
        .executeTakeFirst()) !== undefined,
    keepsElsewhere: async (artifacts, at) =>
      (await database
        .selectFrom("servers")
        .select("id")
        .where("artifacts", "!=", artifacts)
        .where("lease_until", ">=", at.toISOString())
        .executeTakeFirst()) !== undefined,
    delete: async (id) => {
      await database.deleteFrom("servers").where("id", "=", id).execute();
    },
    deleteExpired: async ({ before, after }) => {
      await database
        .deleteFrom("servers")
        .where((lease) =>
          lease.or([
            lease("lease_until", "<", before.toISOString()),
            lease("lease_until", ">", after.toISOString()),
          ]),
        )
        .execute();
    },
  };
}

// Stores the limits of entities, and counts the usage of keys and entities. Each server adds its own counts, and reads
// the totals of all servers.
import { type Kysely, sql } from "kysely";
import {
  noLimits,
  type KeyLimits,
  type LimitStore,
  type LimitSubject,
  type RunningCount,
  type SlotCounts,
} from "../../../base/domain/keys/limits.ts";
import type { Schema } from "../schema.ts";
import { limitColumns } from "./key-store.ts";

/** Maximum number of rows in one SQL statement. */
const rowsMax = 300;

/**
 * Creates the limit store on a migrated database.
 *
 * @param isShared true if other servers may use the database
 */
export function createLimitStore(database: Kysely<Schema>, isShared: boolean): LimitStore {
  const findEntityLimits = async (entity: string): Promise<KeyLimits> => {
    const row = await database
      .selectFrom("entity_limits")
      .selectAll()
      .where("entity", "=", entity)
      .executeTakeFirst();
    return row === undefined ? noLimits : limitColumns.read(row);
  };
  return {
    findEntityLimits,
    changeEntityLimits: async (entity, limits) => {
      const columns = limitColumns.writeSome(limits);
      // Without columns to change, only reads the limits, because an empty update is invalid SQL.
      if (Object.keys(columns).length === 0) return findEntityLimits(entity);
      const row = await database
        .insertInto("entity_limits")
        .values({ ...limitColumns.write(noLimits), ...columns, entity })
        .onConflict((conflict) => conflict.column("entity").doUpdateSet(columns))
        .returningAll()
        .executeTakeFirstOrThrow();
      return limitColumns.read(row);
    },
    isShared,
    exchange: async ({ serverId, slots, running, ...asked }) => {
      if (slots.length + running.length === 0) return readCounts(database, { serverId, ...asked });
      return database.transaction().execute(async (transaction) => {
        await addSlots(transaction, slots);
        await storeRunning(transaction, serverId, running);
        return readCounts(transaction, { serverId, ...asked });
      });
    },
    sweepSlots: async (before) => {
      await database.deleteFrom("limit_slots").where("slot", "<", before).execute();
    },
  };
}

async function readCounts(
  database: Kysely<Schema>,
  {
    serverId,
    subjects,
    sinceSlot,
    now,
  }: Pick<Parameters<LimitStore["exchange"]>[0], "serverId" | "subjects" | "sinceSlot" | "now">,
): ReturnType<LimitStore["exchange"]> {
  if (subjects.length === 0) return { slots: [], othersRunning: [] };
  const counted = database
    .selectFrom("limit_slots")
    .select(["subject", "slot", "requests", "tokens"])
    .where("subject", "in", subjects)
    .where("slot", ">=", sinceSlot);
  // Reads the numbers of running requests in the same statement, as rows with the slot number -1, which no time slot
  // has.
  const others = database
    .selectFrom("limit_running")
    .innerJoin("servers", "servers.id", "limit_running.server_id")
    .select(({ fn }) => [
      "subject",
      sql<number>`-1`.as("slot"),
      fn.sum<number>("count").as("requests"),
      sql<number>`0`.as("tokens"),
    ])
    .where("subject", "in", subjects)
    .where("server_id", "!=", serverId)
    .where("servers.lease_until", ">=", now.toISOString())
    .groupBy("subject");
  const rows = (await counted.unionAll(others).execute()).map((row) => ({
    ...row,
    subject: row.subject as LimitSubject,
  }));
  return {
    slots: rows.filter(({ slot }) => slot >= 0),
    othersRunning: rows
      .filter(({ slot }) => slot < 0)
      .map(({ subject, requests }) => ({ subject, count: requests })),
  };
}

/** Adds counts to time slots. Writes the rows in a fixed order, to avoid deadlocks between servers. */
async function addSlots(transaction: Kysely<Schema>, slots: readonly SlotCounts[]): Promise<void> {
  const sorted = slots.toSorted((one, other) => one.slot - other.slot || compare(one.subject, other.subject));
  for (let start = 0; start < sorted.length; start += rowsMax) {
    await transaction
      .insertInto("limit_slots")
      .values(
        sorted
          .slice(start, start + rowsMax)
          .map(({ slot, subject, requests, tokens }) => ({ slot, subject, requests, tokens })),
      )
      .onConflict((conflict) =>
        conflict.columns(["slot", "subject"]).doUpdateSet((row) => ({
          requests: row("limit_slots.requests", "+", row.ref("excluded.requests")),
          tokens: row("limit_slots.tokens", "+", row.ref("excluded.tokens")),
        })),
      )
      .execute();
  }
}

async function storeRunning(
  transaction: Kysely<Schema>,
  serverId: string,
  running: readonly RunningCount[],
): Promise<void> {
  for (let start = 0; start < running.length; start += rowsMax) {
    await transaction
      .insertInto("limit_running")
      .values(
        running
          .slice(start, start + rowsMax)
          .map(({ subject, count }) => ({ server_id: serverId, subject, count })),
      )
      .onConflict((conflict) =>
        conflict
          .columns(["server_id", "subject"])
          .doUpdateSet((row) => ({ count: row.ref("excluded.count") })),
      )
      .execute();
  }
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

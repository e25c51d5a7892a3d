// Counts the data that retention has removed, in one row per day, kind of data and entity.
import { type Kysely, sql, type Transaction } from "kysely";
import { dayOf } from "../../../base/domain/keys/usage.ts";
import type { KeptKind, RemovedData, RemovedOfDay } from "../../../base/domain/retention/retention-store.ts";
import type { Schema } from "../schema.ts";

/** Number of days that the counts are kept. */
const daysMax = 400;

export async function noteRemoved(
  transaction: Transaction<Schema>,
  kind: KeptKind,
  removed: readonly RemovedData[],
  at: Date,
): Promise<void> {
  for (const { entity, itemCount, byteCount } of removed)
    await sql`
      insert into removed_data (day, kind, entity, item_count, byte_count, last_at)
      values (${dayOf(at)}, ${kind}, ${entity}, ${itemCount}, ${byteCount}, ${at.toISOString()})
      on conflict (day, kind, entity) do update set
        item_count = removed_data.item_count + excluded.item_count,
        byte_count = removed_data.byte_count + excluded.byte_count,
        last_at = excluded.last_at`.execute(transaction);
  const oldest = dayOf(new Date(at.getTime() - daysMax * 86_400_000));
  await transaction.deleteFrom("removed_data").where("day", "<", oldest).execute();
}

export async function listRemoved(
  queries: Kysely<Schema>,
  entity: string | null,
  limit: number,
): Promise<readonly RemovedOfDay[]> {
  let rows = queries.selectFrom("removed_data").selectAll();
  if (entity !== null) rows = rows.where("entity", "=", entity);
  const found = await rows
    .orderBy("day", "desc")
    .orderBy("kind")
    .orderBy("entity")
    .limit(Math.min(limit, 1000))
    .execute();
  return found.map(({ day, kind, entity: of, item_count, byte_count, last_at }) => ({
    day,
    // Safe cast: `noteRemoved` wrote this value.
    kind: kind as KeptKind,
    entity: of,
    itemCount: item_count,
    byteCount: byte_count,
    lastAt: new Date(last_at),
  }));
}

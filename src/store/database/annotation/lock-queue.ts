// One at a time in a queue: what moves in it goes by what the one before left.
import type { Transaction } from "kysely";
import type { Schema } from "../schema.ts";

/** Has whoever else changes what is in the queue wait until the transaction ends; null where there is none. */
export async function lockQueue(transaction: Transaction<Schema>, queueId: string) {
  const row = await transaction
    .updateTable("annotation_queues")
    .set((queue) => ({ last_change: queue("last_change", "+", 1) }))
    .where("id", "=", queueId)
    .where("deleted_at", "is", null)
    .returning(["annotators_per_item", "last_position"])
    .executeTakeFirst();
  return row ?? null;
}

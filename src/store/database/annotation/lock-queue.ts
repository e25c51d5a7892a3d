// Locks an annotation queue, so that changes in it happen one after the other.
import type { Transaction } from "kysely";
import type { Schema } from "../schema.ts";

/**
 * Locks a queue until the end of the transaction; other transactions that change the queue wait. Returns null if there
 * is no such queue.
 */
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

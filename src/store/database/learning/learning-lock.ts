// Locks the row of a learning model for the server that runs its learning.
import type { Transaction } from "kysely";
import type { LearningHold } from "../../../base/domain/learning/learning-store.ts";
import type { Schema } from "../schema.ts";

/** Locks the row. Returns false if the server does not run the model's learning any more. */
export async function lockHeld(
  transaction: Transaction<Schema>,
  { modelId, owner }: LearningHold,
): Promise<boolean> {
  const { numUpdatedRows } = await transaction
    .updateTable("learning")
    .set({ owner })
    .where("model_id", "=", modelId)
    .where("owner", "=", owner)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

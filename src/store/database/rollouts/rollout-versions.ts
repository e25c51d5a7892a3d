// Finds the versions to which open rollouts are pinned. These versions are not deleted.
import type { Transaction } from "kysely";
import type { Schema } from "../schema.ts";

/** Returns the numbers of a model's versions to which open rollouts are pinned. */
export async function stepsOfRollouts(
  transaction: Transaction<Schema>,
  modelId: string,
  now: Date,
): Promise<readonly number[]> {
  const rows = await transaction
    .selectFrom("rollouts")
    .select("step")
    .distinct()
    .where("model_id", "=", modelId)
    .where("state", "=", "open")
    .where("expires_at", ">", now.toISOString())
    // `rowOf` writes this field first. Its value is null if the rollout follows new versions.
    .where("content", "not like", '{"pinnedStep":null%')
    .execute();
  return rows.map(({ step }) => step);
}

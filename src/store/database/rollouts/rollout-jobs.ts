// Records on which rollouts a job trains, in the transaction that stores the job. No two jobs train on the same
// rollout, unless one of them failed or was cancelled.
import { sql, type Transaction } from "kysely";
import type { RolloutOrigin } from "../../../base/domain/rollouts/rollout.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { chunkRows } from "../chunks.ts";
import { lockModel } from "../models/version-store.ts";
import { holdForJob } from "../rewards/automatic-rows.ts";
import type { Schema } from "../schema.ts";

/** Maximum number of rollouts in one SQL statement. */
const rowsMax = 500;

/** True if no job trains on a rollout. */
export const isFree = sql<boolean>`not exists (
  select 1 from job_rollouts join jobs on jobs.id = job_rollouts.job_id
  where job_rollouts.rollout_id = rollouts.id and jobs.state not in ('failed', 'cancelled'))`;

/** True if no queued or running job trains on a rollout. */
export const isUnneeded = sql<boolean>`not exists (
  select 1 from job_rollouts join jobs on jobs.id = job_rollouts.job_id
  where job_rollouts.rollout_id = rollouts.id and jobs.state in ('queued', 'running'))`;

/** Column with the id of the job that trains on a rollout; null if there is none. */
export const jobOf = sql<string | null>`(
  select job_rollouts.job_id from job_rollouts join jobs on jobs.id = job_rollouts.job_id
  where job_rollouts.rollout_id = rollouts.id and jobs.state not in ('failed', 'cancelled') limit 1)`.as(
  "live_job_id",
);

/**
 * Stores on which rollouts a job trains, and updates the automatic rule that created the job. Makes other jobs of the
 * model wait until the transaction ends. A rollout whose time is up can no longer be finished afterwards.
 *
 * @throws ServiceError `conflict` if another job trains on one of the rollouts, or the rule no longer belongs to this
 * server
 */
export async function takeRollouts(
  transaction: Transaction<Schema>,
  job: { readonly id: string; readonly modelId: string; readonly createdAt: Date },
  { rolloutIds, standing }: RolloutOrigin,
): Promise<void> {
  await lockModel(transaction, job.modelId);
  if (standing !== null) await holdForJob(transaction, job, standing);
  for (const chunk of chunkRows(rolloutIds, { rowsMax, lengthOf: () => 1 })) {
    await transaction
      .updateTable("rollouts")
      .set({ state: "expired", ended_at: sql<string>`expires_at` })
      .where("id", "in", chunk)
      .where("state", "=", "open")
      .execute();
    const free = await transaction
      .selectFrom("rollouts")
      .select("id")
      .where("id", "in", chunk)
      .where(isFree)
      .execute();
    if (free.length < chunk.length) throw takenMeanwhile();
    await transaction
      .insertInto("job_rollouts")
      .values(chunk.map((rolloutId) => ({ job_id: job.id, rollout_id: rolloutId })))
      .execute();
  }
}

/**
 * Gives the rollouts of a job to the job that repeats it.
 *
 * @throws ServiceError as {@link takeRollouts}
 */
export async function copyRollouts(
  transaction: Transaction<Schema>,
  job: { readonly id: string; readonly modelId: string; readonly createdAt: Date },
  triedId: string,
): Promise<void> {
  const rows = await transaction
    .selectFrom("job_rollouts")
    .select("rollout_id")
    .where("job_id", "=", triedId)
    .execute();
  if (rows.length > 0)
    await takeRollouts(transaction, job, { rolloutIds: rows.map((row) => row.rollout_id), standing: null });
}

function takenMeanwhile(): ServiceError {
  const message =
    "Another job trains on some of these rollouts already, and none is trained on twice. Ask again for a job of what is left.";
  return new ServiceError({ code: "conflict", message });
}

// Deletes the rows of removed logs and jobs, a few per transaction. A single log or job may have hundreds of megabytes,
// and other writers should not wait until all of its rows are deleted.
import type { Kysely, Transaction } from "kysely";
import { clamped } from "../../../base/domain/summaries/outline-group.ts";
import { removeSomeGroups } from "../groups.ts";
import { terminalSequence } from "../jobs/job-rows.ts";
import { clampedSum } from "../summaries.ts";
import type { Schema } from "../schema.ts";

/** Maximum number of rows that one transaction deletes. A row has at most a megabyte, usually far less. */
const rowsMax = 200;

/** Deletes some rows of removed logs and jobs. Returns false if none are left. */
export async function clearRemoved(database: Kysely<Schema>): Promise<boolean> {
  return await database
    .transaction()
    .execute(async (transaction) => (await clearLog(transaction)) || (await clearJob(transaction)));
}

async function clearLog(transaction: Transaction<Schema>): Promise<boolean> {
  const log = await transaction
    .selectFrom("trajectory_logs")
    .select("id")
    .where("removed_at", "is not", null)
    .limit(1)
    .executeTakeFirst();
  if (log === undefined) return false;
  if ((await removeSomeGroups(transaction, "trajectory_groups", log.id)) > 0) return true;
  if (await deleteOutlines(transaction, log.id)) return true;
  await transaction.deleteFrom("trajectory_logs").where("id", "=", log.id).execute();
  return true;
}

async function clearJob(transaction: Transaction<Schema>): Promise<boolean> {
  const job = await transaction
    .selectFrom("jobs")
    .select("id")
    .where("data_removed_at", "is not", null)
    .where("content_bytes", ">", 0)
    .limit(1)
    .executeTakeFirst();
  if (job === undefined) return false;
  if ((await removeSomeGroups(transaction, "job_groups", job.id)) > 0) return true;
  if (await deleteOutlines(transaction, job.id)) return true;
  const { numDeletedRows: eventCount } = await transaction
    .deleteFrom("job_events")
    .where("job_id", "=", job.id)
    .where("sequence", "in", (events) =>
      events
        .selectFrom("job_events")
        .select("sequence")
        .where("job_id", "=", job.id)
        .where("sequence", "<", terminalSequence)
        .limit(rowsMax),
    )
    .executeTakeFirst();
  if (eventCount === 0n)
    await transaction.updateTable("jobs").set({ content_bytes: 0 }).where("id", "=", job.id).execute();
  return true;
}

/** Deletes some trajectory summaries of a log or a job, and subtracts them from the counts. */
async function deleteOutlines(transaction: Transaction<Schema>, sourceId: string): Promise<boolean> {
  const gone = await transaction
    .deleteFrom("trajectory_outlines")
    .where("source_id", "=", sourceId)
    .where("sequence", "in", (outlines) =>
      outlines
        .selectFrom("trajectory_outlines")
        .select("sequence")
        .where("source_id", "=", sourceId)
        .limit(rowsMax),
    )
    .returning(["model_id", "source", "split", "step", "reward"])
    .execute();
  if (gone.length === 0) return false;
  const [{ model_id, source, split, step }] = gone;
  const counts = transaction
    .updateTable("trajectory_counts")
    .set((row) => ({
      trajectory_count: row("trajectory_count", "-", gone.length),
      reward_sum: clampedSum(
        row.ref("reward_sum"),
        "-",
        gone.reduce((sum, { reward }) => clamped(sum + reward), 0),
      ),
    }))
    .where("model_id", "=", model_id)
    .where("source", "=", source)
    .where("split", "=", split)
    // Trajectories that belong to no version are counted under step -1.
    .where("step", "=", step ?? -1);
  await counts.execute();
  await transaction
    .deleteFrom("trajectory_counts")
    .where("model_id", "=", model_id)
    .where("trajectory_count", "<=", 0)
    .execute();
  return true;
}

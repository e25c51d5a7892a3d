// Which job is run next, and by whom.
import type { Kysely } from "kysely";
import type { TrainingJob } from "../domain/job.ts";
import { jobOf } from "./job-rows.ts";
import type { Schema } from "./schema.ts";

/** See `claim` of the job store. Of two that claim at once, one takes the job and the other looks for the next. */
export async function claimJob(
  database: Kysely<Schema>,
  owner: string,
  at: Date,
  leaseUntil: Date,
): Promise<TrainingJob | null> {
  for (;;) {
    const candidate = await findClaimable(database, at);
    if (candidate === null) return null;
    const row = await database
      .updateTable("jobs")
      .set((row) => ({
        state: "running",
        owner,
        lease_until: leaseUntil.toISOString(),
        started_at: row.fn.coalesce("started_at", row.val(at.toISOString())),
        attempt_count: row("attempt_count", "+", 1),
        waiting_for: null,
      }))
      .where("id", "=", candidate)
      .where("state", "=", "queued")
      .returningAll()
      .executeTakeFirst();
    if (row !== undefined) return jobOf(row);
    // Another took it, or it was cancelled, since it was found: there may be a next one.
  }
}

async function findClaimable(database: Kysely<Schema>, at: Date): Promise<string | null> {
  // A queued job waits for every earlier one of its model, also for one that may not be tried again yet.
  const row = await database
    .selectFrom("jobs as job")
    .select("job.id")
    .where("job.state", "=", "queued")
    .where((job) =>
      job.or([job("job.not_before", "<=", at.toISOString()), job("job.waits_since", ">", at.toISOString())]),
    )
    .where((job) =>
      job.not(
        job.exists(
          job
            .selectFrom("jobs as other")
            .select("other.id")
            .whereRef("other.model_id", "=", "job.model_id")
            .where((other) =>
              other.or([
                other("other.state", "=", "running"),
                other.and([
                  other("other.state", "=", "queued"),
                  other("other.sequence", "<", other.ref("job.sequence")),
                ]),
              ]),
            ),
        ),
      ),
    )
    .orderBy("job.sequence")
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? null;
}

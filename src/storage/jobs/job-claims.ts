// Which job is run next, and by whom.
import type { Kysely, Transaction } from "kysely";
import type { TrainingJob } from "../../domain/job.ts";
import { jobOf } from "./job-rows.ts";
import type { Schema } from "../schema.ts";
import { nextSequence } from "../sequences.ts";

/** Who claims, and when. */
export interface JobClaim {
  readonly owner: string;
  readonly at: Date;
}

/** See `claim` of the job store. Of two that claim at once, one takes the job and the other looks for the next. */
export async function claimJob(database: Kysely<Schema>, claim: JobClaim): Promise<TrainingJob | null> {
  for (;;) {
    const candidate = await findClaimable(database, claim);
    if (candidate === null) return null;
    const job = await database.transaction().execute((transaction) => takeJob(transaction, candidate, claim));
    if (job !== null) return job;
    // Another took it, or it was cancelled, since it was found: there may be a next one. None is found without a lease.
  }
}

/** Null when the job does not wait any more, or the owner has no lease. */
async function takeJob(
  transaction: Transaction<Schema>,
  id: string,
  { owner, at }: JobClaim,
): Promise<TrainingJob | null> {
  // Writing the lease's row locks it: a server that ends the lease waits, and then finds this job among those to rescue.
  const lease = await transaction
    .updateTable("servers")
    .set((row) => ({ lease_until: row.ref("lease_until") }))
    .where("id", "=", owner)
    .executeTakeFirst();
  if (lease.numUpdatedRows === 0n) return null;
  const row = await transaction
    .updateTable("jobs")
    .set((row) => ({
      state: "running",
      owner,
      started_at: row.fn.coalesce("started_at", row.val(at.toISOString())),
      attempt_count: row("attempt_count", "+", 1),
      has_advanced: 0,
    }))
    .where("id", "=", id)
    .where("state", "=", "queued")
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return null;
  await transaction
    .updateTable("models")
    .set({ last_turn: await nextSequence(transaction, "turns") })
    .where("id", "=", row.model_id)
    .execute();
  return jobOf(row);
}

/**
 * Entities take turns, and so do the models of each: whoever's last turn is the longest ago is next, and the older job
 * where nobody has had one. What one of them queues delays the others by a turn, however much it is.
 */
async function findClaimable(database: Kysely<Schema>, { owner, at }: JobClaim): Promise<string | null> {
  const row = await database
    // Of each model the first job that is queued: also one that may not be tried again yet holds the later ones back.
    .selectFrom((queued) =>
      queued
        .selectFrom("jobs")
        .select(({ fn }) => ["model_id", fn.min("sequence").as("sequence")])
        .where("state", "=", "queued")
        .groupBy("model_id")
        .as("first"),
    )
    .innerJoin("jobs as job", "job.sequence", "first.sequence")
    .innerJoin("models as model", "model.id", "job.model_id")
    .innerJoin(
      (turns) =>
        turns
          .selectFrom("models")
          .select(({ fn }) => ["entity", fn.max("last_turn").as("last_turn")])
          .groupBy("entity")
          .as("turn"),
      (on) => on.onRef("turn.entity", "=", "model.entity"),
    )
    .select("job.id")
    .where((job) =>
      job.or([job("job.not_before", "<=", at.toISOString()), job("job.waits_since", ">", at.toISOString())]),
    )
    .where((job) =>
      job.not(
        job.exists(
          job
            .selectFrom("jobs as other")
            .select("other.id")
            .where("other.state", "=", "running")
            .whereRef("other.model_id", "=", "job.model_id"),
        ),
      ),
    )
    .where("model.base_model", "in", (bases) =>
      bases.selectFrom("server_bases").select("server_bases.base_model").where("server_id", "=", owner),
    )
    .orderBy("turn.last_turn")
    .orderBy("model.last_turn")
    .orderBy("job.sequence")
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? null;
}

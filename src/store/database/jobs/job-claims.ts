// Which job is run next, and by whom.
import { type Kysely, sql, type Transaction } from "kysely";
import type { TrainingJob } from "../../../base/domain/job.ts";
import type { Connection } from "../dialect.ts";
import { jobOf } from "./job-rows.ts";
import type { Schema } from "../schema.ts";
import { nextSequence } from "../paging.ts";

/** Who claims, and when. */
export interface JobClaim {
  readonly owner: string;
  readonly at: Date;
}

type Claims = Pick<Connection, "queries" | "form">;

/**
 * See `claim` of the job store. Of several that claim at once each takes another job, and none waits for the others. Null too
 * where all that could be taken is just being taken.
 */
export async function claimJob({ queries, form }: Claims, claim: JobClaim): Promise<TrainingJob | null> {
  for (let seen: string | null = null; ;) {
    // Looked for without a transaction first: most looks find nothing.
    const candidate = await findClaimable(queries, claim, "");
    if (candidate === null || candidate === seen) return null;
    const lock = form.lockUnlocked("job");
    const job = await queries.transaction().execute((transaction) => takeJob(transaction, claim, lock));
    if (job !== null) return job;
    // Another took it, or it was cancelled, since it was found: there may be a next one. None is found without a lease.
    seen = candidate;
  }
}

/** Null when no job waits any more that nobody else is taking, or the owner has no lease. */
async function takeJob(
  transaction: Transaction<Schema>,
  claim: JobClaim,
  lock: string,
): Promise<TrainingJob | null> {
  const { owner, at } = claim;
  // Writing the lease's row locks it: a server that ends the lease waits, and then finds this job among those to rescue.
  const lease = await transaction
    .updateTable("servers")
    .set((row) => ({ lease_until: row.ref("lease_until") }))
    .where("id", "=", owner)
    .executeTakeFirst();
  if (lease.numUpdatedRows === 0n) return null;
  const id = await findClaimable(transaction, claim, lock);
  if (id === null) return null;
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
async function findClaimable(
  database: Kysely<Schema>,
  { owner, at }: JobClaim,
  lock: string,
): Promise<string | null> {
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
    .modifyEnd(sql.raw(lock))
    .executeTakeFirst();
  return row?.id ?? null;
}

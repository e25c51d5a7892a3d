// Selects the next job, and claims it for a server.
import { type Kysely, sql, type Transaction } from "kysely";
import type { TrainingJob } from "../../../base/domain/job.ts";
import type { Connection } from "../dialect.ts";
import { jobOf } from "./job-rows.ts";
import type { Schema } from "../schema.ts";
import { nextSequence } from "../paging.ts";

/** A server that wants to claim a job, and the current time. */
export interface JobClaim {
  readonly owner: string;
  readonly at: Date;
}

type Claims = Pick<Connection, "queries" | "form">;

/**
 * Implements `claim` of the job store. Concurrent claims take different jobs and never wait for each other. Returns
 * null although jobs are queued if other servers are claiming all of them at this moment.
 */
export async function claimJob({ queries, form }: Claims, claim: JobClaim): Promise<TrainingJob | null> {
  for (let seen: string | null = null; ;) {
    // First searches outside a transaction, because most searches find no job.
    const candidate = await findClaimable(queries, claim, "");
    if (candidate === null || candidate === seen) return null;
    const lock = form.lockUnlocked("job");
    const job = await queries.transaction().execute((transaction) => takeJob(transaction, claim, lock));
    if (job !== null) return job;
    // Since the search, another server has claimed the found job, or the job was cancelled. The search is repeated,
    // because there may be another job. The repeated search finds no job if the claiming server has no lease.
    seen = candidate;
  }
}

/**
 * Claims a job in a transaction. Returns null if other servers are claiming every queued job, or if the claiming server
 * has no lease.
 */
async function takeJob(
  transaction: Transaction<Schema>,
  claim: JobClaim,
  lock: string,
): Promise<TrainingJob | null> {
  const { owner, at } = claim;
  // Locks the lease by updating its row. A server that ends this lease waits for the lock, and then finds this job
  // among those to rescue.
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
 * Finds the next claimable job. Entities take turns, and so do the models of an entity: next is the entity (or model)
 * whose last claim is longest ago, or among equals, the one with the oldest job. Many queued jobs of one entity thus
 * delay another entity's job by only one turn.
 */
async function findClaimable(
  database: Kysely<Schema>,
  { owner, at }: JobClaim,
  lock: string,
): Promise<string | null> {
  const row = await database
    // Considers only the first queued job of each model. If that job must wait before its next attempt, the model's
    // later jobs wait, too.
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

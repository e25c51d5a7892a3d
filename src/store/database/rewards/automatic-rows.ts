// Stores the state of automatic training rules: how far a rule has read the feedback, the prompts that this feedback
// concerns, the prompts that are ready for training, and the jobs that the rule created. Every write first locks the
// rule's row.
import type { Kysely, Transaction } from "kysely";
import type {
  AutomaticAdvance,
  AutomaticHold,
  AutomaticJob,
  AutomaticProgress,
} from "../../../base/domain/rewards/stored-rule.ts";
import type { CreatingRule } from "../../../base/domain/rewards/training-source.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { chunkRows } from "../chunks.ts";
import type { Schema } from "../schema.ts";

/** Maximum number of rows in one SQL statement; each row has three parameters. */
const rowsMax = 500;

export async function advanceRule(
  transaction: Transaction<Schema>,
  hold: AutomaticHold,
  { from, to, notes, prompts }: AutomaticAdvance,
): Promise<boolean> {
  const held = await heldRule(transaction, hold)
    .set({ read_to: to })
    .where("read_to", from === null ? "is" : "=", from)
    .executeTakeFirst();
  if (held.numUpdatedRows === 0n) return false;
  const noted = notes.map(({ feedbackId, promptHash }) => ({
    rule_id: hold.ruleId,
    feedback_id: feedbackId,
    prompt_hash: promptHash,
  }));
  for (const chunk of chunkRows(noted, { rowsMax, lengthOf: ({ feedback_id: id }) => id.length }))
    await transaction
      .insertInto("rule_notes")
      .values(chunk)
      .onConflict((conflict) =>
        conflict
          .columns(["rule_id", "feedback_id"])
          .doUpdateSet((row) => ({ prompt_hash: row.ref("excluded.prompt_hash") })),
      )
      .execute();
  const looked = [...prompts].map(([promptHash, isReady]) => ({
    rule_id: hold.ruleId,
    prompt_hash: promptHash,
    ready_since: isReady ? (to ?? 0) : null,
    job_id: null,
  }));
  for (const chunk of chunkRows(looked, { rowsMax, lengthOf: () => 100 }))
    await transaction
      .insertInto("rule_prompts")
      .values(chunk)
      .onConflict((conflict) =>
        conflict
          .columns(["rule_id", "prompt_hash"])
          .doUpdateSet((row) => ({ ready_since: row.ref("excluded.ready_since") })),
      )
      .execute();
  return true;
}

/**
 * Returns the progress of an automatic rule; null if there is no such rule.
 *
 * @param since start of the period whose jobs are listed
 */
export async function readAutomaticProgress(
  queries: Kysely<Schema>,
  id: string,
  since: Date,
): Promise<AutomaticProgress | null> {
  const rule = await queries
    .selectFrom("reward_rules")
    .select(["read_to", "fault"])
    .where("id", "=", id)
    .executeTakeFirst();
  if (rule === undefined) return null;
  const { count } = await queries
    .selectFrom("rule_prompts")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("rule_id", "=", id)
    .where("ready_since", "is not", null)
    .executeTakeFirstOrThrow();
  const jobs = queries
    .selectFrom("rule_jobs")
    .select(["job_id", "created_at", "token_count"])
    .where("rule_id", "=", id)
    .orderBy("created_at", "desc")
    .orderBy("job_id", "desc");
  const recent = await jobs.where("created_at", ">", since.toISOString()).limit(jobsMax).execute();
  const [last] = await jobs.limit(1).execute();
  const jobOf = (row: typeof last): AutomaticJob => ({
    id: row.job_id,
    createdAt: new Date(row.created_at),
    tokenCount: row.token_count,
  });
  return {
    cursor: rule.read_to,
    readyCount: count,
    unreadyCount: 0,
    jobs: recent.map(jobOf),
    lastJob: last === undefined ? null : jobOf(last),
    fault: rule.fault,
  };
}

/** Maximum number of jobs in a rule's progress. A rule cannot create more in a day. */
const jobsMax = 10_000;

/**
 * Records that an automatic rule created a job, within the transaction that stores the job.
 *
 * @throws ServiceError `conflict` if the rule belongs to another server, was changed, or is paused
 */
export async function holdForJob(
  transaction: Transaction<Schema>,
  job: { readonly id: string; readonly createdAt: Date },
  { hold, tokenCount, promptHashes }: CreatingRule,
): Promise<void> {
  const held = await heldRule(transaction, hold)
    .set({ fault: null })
    .where("is_paused", "=", 0)
    .executeTakeFirst();
  if (held.numUpdatedRows === 0n) {
    const message =
      "The automatic rule was changed or paused, or now belongs to another server; nothing was trained.";
    throw new ServiceError({ code: "conflict", message });
  }
  await transaction
    .insertInto("rule_jobs")
    .values({
      rule_id: hold.ruleId,
      job_id: job.id,
      created_at: job.createdAt.toISOString(),
      token_count: tokenCount,
    })
    .execute();
  for (const chunk of chunkRows(promptHashes, { rowsMax, lengthOf: (hash) => hash.length }))
    await transaction
      .updateTable("rule_prompts")
      .set({ ready_since: null, job_id: job.id })
      .where("rule_id", "=", hold.ruleId)
      .where("prompt_hash", "in", chunk)
      .execute();
}

/** Makes the prompts of a rule's failed and cancelled jobs ready for training again. */
export async function releaseFailed(queries: Kysely<Schema>, ruleId: string): Promise<void> {
  await queries
    .updateTable("rule_prompts")
    .set((prompt) => ({ job_id: null, ready_since: prompt.fn.coalesce("ready_since", prompt.val(0)) }))
    .where("rule_id", "=", ruleId)
    .where("job_id", "in", (failed) =>
      failed
        .selectFrom("rule_jobs")
        .innerJoin("jobs", "jobs.id", "rule_jobs.job_id")
        .select("rule_jobs.job_id")
        .where("rule_jobs.rule_id", "=", ruleId)
        .where("jobs.state", "in", ["failed", "cancelled"]),
    )
    .execute();
}

/**
 * Begins an update of a rule's row. The update has no effect if the rule now belongs to another server, or was changed
 * or paused.
 */
export function heldRule(queries: Kysely<Schema>, { ruleId, owner, updatedAt }: AutomaticHold) {
  return queries
    .updateTable("reward_rules")
    .where("id", "=", ruleId)
    .where("owner", "=", owner)
    .where("updated_at", "=", updatedAt.toISOString());
}

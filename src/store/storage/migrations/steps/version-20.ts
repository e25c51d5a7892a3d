// To version 20: reward rules, what standing ones know, and the feedback that jobs came from; and records of feedback numbered
// in the order in which they were stored.
import { sql, type Transaction } from "kysely";
import type { Schema } from "../../schema.ts";

/** Those of store/storage/rewards, which a new database has too. */
export const rewardTables: readonly string[] = [
  `create table reward_rules (
    id text not null primary key, sequence integer not null unique, entity text not null,
    project text not null, name text not null, content text not null, standing text,
    model_id text references models (id) on delete set null, is_paused integer not null default 0,
    created_at text not null, updated_at text not null, owner text, read_to integer, fault text,
    unique (entity, project, name)
  )`,
  "create index reward_rules_of_model on reward_rules (model_id)",
  `create table rule_notes (
    rule_id text not null references reward_rules (id) on delete cascade,
    feedback_id text not null, prompt_hash text not null,
    primary key (rule_id, feedback_id)
  )`,
  "create index rule_notes_by_prompt on rule_notes (rule_id, prompt_hash, feedback_id)",
  `create table rule_prompts (
    rule_id text not null references reward_rules (id) on delete cascade,
    prompt_hash text not null, ready_since integer, job_id text,
    primary key (rule_id, prompt_hash)
  )`,
  "create index rule_prompts_ready on rule_prompts (rule_id, ready_since)",
  "create index rule_prompts_of_job on rule_prompts (rule_id, job_id)",
  `create table rule_jobs (
    rule_id text not null references reward_rules (id) on delete cascade,
    job_id text not null references jobs (id) on delete cascade,
    created_at text not null, token_count integer not null,
    primary key (rule_id, job_id)
  )`,
  "create index rule_jobs_in_order on rule_jobs (rule_id, created_at)",
  "create index rule_jobs_by_job on rule_jobs (job_id)",
  `create table job_sources (
    job_id text not null references jobs (id) on delete cascade,
    sequence integer not null, model_id text not null, answer text not null,
    is_trained integer not null, content text not null,
    primary key (job_id, sequence)
  )`,
  "create index job_sources_by_answer on job_sources (model_id, answer)",
];

export async function addVersion20(transaction: Transaction<Schema>): Promise<void> {
  for (const statement of rewardTables) await sql.raw(statement).execute(transaction);
  await sql`alter table feedback add column sequence integer`.execute(transaction);
  await sql`
    update feedback set sequence = numbered.number
    from (
      select project_id, id, row_number() over (order by created_at, project_id, id) as number from feedback
    ) as numbered
    where feedback.project_id = numbered.project_id and feedback.id = numbered.id
  `.execute(transaction);
  await sql`create unique index feedback_as_stored on feedback (project_id, sequence)`.execute(transaction);
  await sql`insert into sequences (list, sequence) select 'feedback', count(*) from feedback`.execute(
    transaction,
  );
}

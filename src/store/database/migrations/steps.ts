// Migration steps from each version of the database to the next, starting at the baseline. A released step must never
// change: add a new step after it. Each step states whether servers with older programs may continue to use the
// database.
import type { Transaction } from "kysely";
import type { Schema } from "../schema.ts";
import type { SqlForm } from "../sql-form.ts";

/**
 * A step after which older programs cannot use the database. It is a list of statements or a function. When a newer
 * server applies it, servers with older programs stop.
 */
type BreakingStep = readonly string[] | ((transaction: Transaction<Schema>, form: SqlForm) => Promise<void>);

/**
 * A step that only adds tables, columns and indexes (`additions.ts`), so that servers with older programs continue to
 * run. Its author must consider rows that older programs write without the additions, and rows of newer programs that
 * older programs change. If such rows would be wrong, or if the step changes the layout of the artifacts, the step must
 * be a breaking one.
 */
interface AddingStep {
  readonly adds: readonly string[] | ((form: SqlForm) => readonly string[]);
}

export type Step = BreakingStep | AddingStep;

/** Migration steps to the versions `baselineVersion` + 1, `baselineVersion` + 2 and so on. */
export const steps: readonly Step[] = [
  // Older programs create webhooks without a description, and never change a description.
  { adds: ["alter table webhooks add column description text"] },
  // Older programs never read the table. If they delete a model, the database deletes its rows.
  {
    adds: [
      `create table fine_tuning_jobs (
        id text not null primary key, sequence integer not null unique, entity text not null,
        project text not null, model_id text not null references models (id) on delete cascade,
        content text not null, metadata text, state text not null, training_job_id text, progress text,
        error_message text, owner text, created_at text not null, ended_at text
      )`,
      "create index fine_tuning_jobs_of_entity on fine_tuning_jobs (entity, sequence)",
      "create index fine_tuning_jobs_of_model on fine_tuning_jobs (model_id)",
      "create index fine_tuning_jobs_by_state on fine_tuning_jobs (state, owner)",
    ],
  },
  // Older programs save no version under a name, and may only delete the state of a saved version.
  {
    adds: [
      "alter table model_versions add column saved_as text",
      "alter table model_versions add column saved_metadata text",
      "alter table model_versions add column expires_at text",
      "create index model_versions_by_expiry on model_versions (expires_at) where expires_at is not null",
    ],
  },
  // Older programs record calls without a rollout. They know no rollout keys, so no call of a rollout reaches them.
  {
    adds: [
      `create table rollouts (
        id text not null primary key, sequence bigint not null,
        model_id text not null references models (id) on delete cascade, entity text not null, state text not null,
        group_key text not null, split text not null, step integer not null, secret_hash text not null,
        created_at text not null, expires_at text not null, ended_at text, outcome text, content text not null,
        call_count integer not null default 0, token_count bigint not null default 0, last_step integer
      )`,
      "create unique index rollouts_in_order on rollouts (model_id, sequence)",
      "create unique index rollouts_of_key on rollouts (secret_hash)",
      "create index rollouts_of_group on rollouts (model_id, group_key, state)",
      "create index rollouts_of_entity on rollouts (entity, state, expires_at)",
      `create table job_rollouts (
        job_id text not null references jobs (id) on delete cascade,
        rollout_id text not null references rollouts (id) on delete cascade, primary key (rollout_id, job_id)
      )`,
      "create index job_rollouts_of_job on job_rollouts (job_id)",
      "alter table recorded_completions add column rollout_id text",
      "create index recorded_completions_of_rollout on recorded_completions (rollout_id, sequence)",
    ],
  },
  // Older programs never read the table, and never touch artifacts below `uploads`.
  {
    adds: [
      `create table uploads (
        id text not null primary key, entity text not null, name text not null, purpose text not null,
        byte_count bigint not null, state text not null, parts text not null, part_bytes bigint not null,
        created_at text not null, expires_at text not null
      )`,
      "create index uploads_of_entity on uploads (entity, state, expires_at)",
      "create index uploads_by_expiry on uploads (expires_at)",
    ],
  },
  // Older programs would serve a version that is held back, so they cannot use the database any more.
  [
    `create table learning (
      model_id text not null primary key references models (id) on delete cascade, content text not null,
      owner text, read_to bigint not null, notes text not null,
      created_at text not null, updated_at text not null
    )`,
    "create index learning_of_server on learning (owner)",
    `create table learning_cycles (
      id text not null primary key, sequence bigint not null,
      model_id text not null references models (id) on delete cascade, job_id text not null unique,
      stage text not null, content text not null, progress text not null, created_at text not null, ended_at text
    )`,
    "create unique index learning_cycles_in_order on learning_cycles (model_id, sequence)",
    "create unique index learning_cycles_in_progress on learning_cycles (model_id) where ended_at is null",
    `create table learning_turns (
      model_id text not null references models (id) on delete cascade, hash text not null,
      call_id text not null, number bigint not null, primary key (model_id, hash)
    )`,
    "create index learning_turns_in_order on learning_turns (model_id, number)",
    "alter table model_versions add column held text",
  ],
  // Older programs keep such a file until it is unused or deleted.
  { adds: ["alter table files add column expires_at text"] },
];

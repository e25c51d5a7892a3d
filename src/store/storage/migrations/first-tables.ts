// The tables of a new database as version 26 had them; it takes every later step of migrations.ts, as an older database does.
// They stay as they are: a copy of a database (store/storage/copies) is loaded into the tables that its version had. An older
// database has beside them a key of its own in some tables, `position`, which nobody goes by.

import type { SqlForm } from "../sql-form.ts";
import { outlineTables } from "./steps/version-18.ts";
import { completionTables } from "./steps/version-19.ts";
import { rewardTables } from "./steps/version-20.ts";
import { feedbackTables } from "./steps/version-21.ts";
import { annotationTables } from "./steps/version-22.ts";
import { numbersTable } from "./steps/version-23.ts";
import { replacedOrder } from "./steps/version-24.ts";
import { webhookTables } from "./steps/version-25.ts";
import { traceTables } from "./steps/version-26.ts";

/** The version that {@link firstTables} are of: the first of which there are copies. */
export const firstTablesVersion = 26;

/** Carried out in order in one transaction. */
export const firstTables = (form: SqlForm): readonly string[] => [
  "create table sequences (list text primary key, sequence integer not null)",
  "create table servers (id text primary key, lease_until text not null)",
  `create table server_bases (
    server_id text not null references servers (id) on delete cascade,
    base_model text not null,
    primary key (server_id, base_model)
  )`,
  `create table access_keys (
    id text not null unique, sequence integer, entity text not null, role text not null,
    owner text not null, secret_hash text not null unique, created_at text not null, revoked_at text
  )`,
  "create unique index access_keys_in_order on access_keys (sequence)",
  `create table models (
    id text not null unique, sequence integer, entity text not null, project text not null,
    name text not null, base_model text not null, adapter_rank integer, adapter_alpha real,
    adapter_targets text, created_at text not null, last_log_sequence integer not null default 0,
    scenario_count integer not null default 0, last_turn integer not null default 0,
    trajectory_count integer not null default 0, completion_count integer not null default 0,
    unique (entity, project, name)
  )`,
  "create unique index models_in_order on models (sequence)",
  "create index models_by_name on models (name, sequence)",
  "create index models_by_entity on models (entity, sequence)",
  `create table model_scenarios (
    model_id text not null references models (id) on delete cascade,
    scenario_hash text not null,
    primary key (model_id, scenario_hash)
  )`,
  `create table server_versions (
    server_id text not null references servers (id) on delete cascade,
    model_id text not null references models (id) on delete cascade,
    step integer not null,
    primary key (server_id, model_id, step)
  )`,
  `create table model_versions (
    id text primary key,
    model_id text not null references models (id) on delete cascade,
    step integer not null, adapter_folder text, trainer_state text, job_id text unique,
    metrics text not null, own_metrics text not null default '{}', created_at text not null,
    is_pinned integer not null default 0, base text, adapter_hash text, copied_kind text,
    is_deleted integer not null,
    unique (model_id, step)
  )`,
  `create table jobs (
    id text not null unique, sequence integer,
    model_id text not null references models (id) on delete cascade,
    kind text not null default 'rl', state text not null, config text not null,
    config_not_applied text not null, created_at text not null, started_at text, ended_at text,
    error_message text, attempt_count integer not null, lost_count integer not null default 0,
    restart_count integer not null default 0, has_advanced integer not null default 0, progress text,
    counts text, result_step integer, cancel_requested integer not null, owner text,
    not_before text not null, waits_since text not null default '1970-01-01T00:00:00.000Z',
    waiting_for text, warnings text not null default '[]', content_hash text not null default '', pins text,
    replay_of text, retry_of text, comparison text
  )`,
  "create unique index jobs_in_order on jobs (sequence)",
  "create index jobs_by_state on jobs (state, model_id, sequence)",
  "create index jobs_by_model on jobs (model_id, sequence)",
  `create table job_groups (
    job_id text not null references jobs (id) on delete cascade,
    group_index integer not null, content text not null,
    primary key (job_id, group_index)
  )`,
  `create table job_events (
    job_id text not null references jobs (id) on delete cascade,
    sequence integer not null, type text not null, data text not null,
    unique (job_id, sequence)
  )`,
  `create table job_idempotency (
    key_id text not null, idempotency_key text not null, body_hash text not null,
    job_id text not null references jobs (id) on delete cascade,
    primary key (key_id, idempotency_key)
  )`,
  "create index job_idempotency_by_job on job_idempotency (job_id)",
  `create table trajectory_logs (
    id text not null unique, sequence integer,
    model_id text not null references models (id) on delete cascade,
    split text not null, step integer not null, recorded_at text not null, metrics text not null,
    group_count integer not null default 0, content_bytes integer not null default 0
  )`,
  "create unique index trajectory_logs_in_order on trajectory_logs (model_id, sequence)",
  `create table trajectory_groups (
    log_id text not null references trajectory_logs (id) on delete cascade,
    group_index integer not null, content text not null,
    primary key (log_id, group_index)
  )`,
  ...outlineTables,
  ...completionTables,
  ...feedbackTables,
  ...replacedOrder,
  numbersTable(form),
  `create table feedback_revisions (
    sequence integer, project_id text not null, id text not null, replaced_at text not null,
    record text not null
  )`,
  "create unique index feedback_revisions_in_order on feedback_revisions (project_id, id, sequence)",
  `create table files (
    id text not null primary key, sequence integer not null unique, entity text not null,
    name text not null, purpose text not null, byte_count bigint not null, created_at text not null,
    used_at text not null
  )`,
  "create index files_of_entity on files (entity, sequence)",
  ...rewardTables,
  ...annotationTables,
  ...webhookTables,
  ...traceTables,
];

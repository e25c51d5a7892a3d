// Tables of the baseline version. A new database gets these tables, and then every step of steps.ts. The tables never
// change, because `hone import` and `hone restore` load a backup into the tables of the backup's version.
import type { SqlForm } from "../sql-form.ts";

/** Version of the baseline tables, and the oldest version of a database that this program reads. */
export const baselineVersion = 35;

/**
 * Statements that create the baseline tables, to be run in this order in one transaction. Each table follows those to
 * which it refers.
 */
export const baselineTables = ({ clusteredTable }: SqlForm): readonly string[] => [
  "create table sequences (list text primary key, sequence integer not null)",
  "create table servers (id text primary key, lease_until text not null, artifacts text)",
  `create table server_bases (
    server_id text not null references servers (id) on delete cascade, base_model text not null,
    primary key (server_id, base_model)
  )`,
  `create table access_keys (
    id text not null unique, sequence integer, entity text not null, role text not null,
    owner text not null, secret_hash text not null unique, created_at text not null, revoked_at text,
    name text, expires_at text, scopes text, project text, last_used_at text, previous_hash text,
    previous_until text, requests_per_minute integer, tokens_per_minute integer,
    concurrent_requests integer, queue_percent integer, queued_jobs integer
  )`,
  "create unique index access_keys_in_order on access_keys (sequence)",
  "create unique index access_keys_by_previous on access_keys (previous_hash)",
  "create index access_keys_of_entity on access_keys (entity, sequence)",
  `create table models (
    id text not null unique, sequence integer, entity text not null, project text not null,
    name text not null, base_model text not null, adapter_rank integer, adapter_alpha real,
    adapter_targets text, created_at text not null, last_log_sequence integer not null default 0,
    scenario_count integer not null default 0, last_turn integer not null default 0,
    trajectory_count integer not null default 0, completion_count integer not null default 0,
    log_bytes bigint not null default 0, job_bytes bigint not null default 0,
    completion_bytes bigint not null default 0, unique (entity, project, name)
  )`,
  "create unique index models_in_order on models (sequence)",
  "create index models_by_name on models (name, sequence)",
  "create index models_by_entity on models (entity, sequence)",
  `create table model_scenarios (
    model_id text not null references models (id) on delete cascade, scenario_hash text not null,
    primary key (model_id, scenario_hash)
  )`,
  `create table server_versions (
    server_id text not null references servers (id) on delete cascade,
    model_id text not null references models (id) on delete cascade, step integer not null,
    primary key (server_id, model_id, step)
  )`,
  `create table model_versions (
    id text primary key, model_id text not null references models (id) on delete cascade,
    step integer not null, adapter_folder text, trainer_state text, job_id text unique,
    metrics text not null, own_metrics text not null default '{}', created_at text not null,
    is_pinned integer not null default 0, base text, adapter_hash text, copied_kind text,
    is_deleted integer not null, unique (model_id, step)
  )`,
  `create table jobs (
    id text not null unique, sequence integer,
    model_id text not null references models (id) on delete cascade, kind text not null default 'rl',
    state text not null, config text not null, config_not_applied text not null, created_at text not null,
    started_at text, ended_at text, error_message text, attempt_count integer not null,
    lost_count integer not null default 0, restart_count integer not null default 0,
    has_advanced integer not null default 0, progress text, counts text, result_step integer,
    cancel_requested integer not null, owner text, not_before text not null,
    waits_since text not null default '1970-01-01T00:00:00.000Z', waiting_for text,
    warnings text not null default '[]', content_hash text not null default '', pins text, replay_of text,
    retry_of text, comparison text, key_id text, content_bytes bigint not null default 0,
    data_removed_at text, made_by text
  )`,
  "create unique index jobs_in_order on jobs (sequence)",
  "create index jobs_by_state on jobs (state, model_id, sequence)",
  "create index jobs_by_model on jobs (model_id, sequence)",
  "create index jobs_by_end on jobs (ended_at, id) where ended_at is not null and data_removed_at is null",
  "create index jobs_removed on jobs (data_removed_at) where data_removed_at is not null and content_bytes > 0",
  "create index jobs_retrying on jobs (model_id, retry_of) where retry_of is not null",
  "create index jobs_by_key on jobs (key_id, state)",
  `create table job_groups (
    job_id text not null references jobs (id) on delete cascade, group_index integer not null,
    content text not null, primary key (job_id, group_index)
  )`,
  `create table job_events (
    job_id text not null references jobs (id) on delete cascade, sequence integer not null,
    type text not null, data text not null, unique (job_id, sequence)
  )`,
  `create table job_idempotency (
    key_id text not null, idempotency_key text not null, body_hash text not null,
    job_id text not null references jobs (id) on delete cascade, primary key (key_id, idempotency_key)
  )`,
  "create index job_idempotency_by_job on job_idempotency (job_id)",
  `create table trajectory_logs (
    id text not null unique, sequence integer,
    model_id text not null references models (id) on delete cascade, split text not null,
    step integer not null, recorded_at text not null, metrics text not null,
    group_count integer not null default 0, content_bytes integer not null default 0, removed_at text,
    tally text
  )`,
  "create unique index trajectory_logs_in_order on trajectory_logs (model_id, sequence)",
  "create index trajectory_logs_by_time on trajectory_logs (recorded_at, id) where removed_at is null",
  "create index trajectory_logs_removed on trajectory_logs (removed_at) where removed_at is not null",
  "create index trajectory_log_parts on trajectory_logs (model_id, split, step, sequence)",
  `create table trajectory_groups (
    log_id text not null references trajectory_logs (id) on delete cascade, group_index integer not null,
    content text not null, primary key (log_id, group_index)
  )`,
  `create table trajectory_outlines (
    model_id text not null references models (id) on delete cascade, sequence integer not null,
    source text not null, source_id text not null, split text not null, step integer,
    recorded_at text not null, reward double precision not null, part integer not null,
    group_index integer not null, item_index integer not null, content text not null
  )`,
  `create unique index trajectory_outlines_in_order
    on trajectory_outlines (model_id, sequence, reward, step, split, source, recorded_at)`,
  "create index trajectory_outlines_of_source on trajectory_outlines (source_id)",
  `create table trajectory_counts (
    model_id text not null references models (id) on delete cascade, source text not null,
    split text not null, step integer not null, trajectory_count integer not null,
    reward_sum double precision not null, primary key (model_id, source, split, step)
  )`,
  `create table recorded_completions (
    sequence bigint not null, model_id text not null references models (id) on delete cascade,
    entity text not null, project_id text not null, call_id text not null, step integer not null,
    ended_at text not null, byte_count integer not null, is_whole integer not null, outline text not null,
    message_piece text, token_piece text, content text, primary key (call_id, project_id)
  )`,
  `create unique index recorded_completions_in_order
    on recorded_completions (sequence, ended_at, step, entity, project_id)`,
  `create unique index recorded_completions_of_model
    on recorded_completions (model_id, sequence, ended_at, step, entity, project_id)`,
  "create index recorded_completions_of_entity on recorded_completions (entity, sequence)",
  `create table completion_pieces (
    model_id text not null references models (id) on delete cascade, id text not null, parent_id text,
    use_count integer not null, content text not null, primary key (model_id, id)
  )`,
  `create table feedback (
    project_id text not null, sequence bigint not null, id text not null, vendor_ref text not null,
    feedback_type text not null, vendor_user_id text not null, creator text, annotation_ref text,
    runnable_ref text, call_ref text, trigger_ref text, queue_id text, created_at text not null,
    content_hash text not null, payload text not null, exact text, emoji text,
    has_more_numbers integer not null default 0, last_revision_sequence integer not null default 0,
    call_id text, replaced_sequence bigint, unique (project_id, id)
  )`,
  "create unique index feedback_as_stored on feedback (project_id, sequence)",
  "create index feedback_on_reference on feedback (project_id, vendor_ref, created_at, sequence)",
  "create index feedback_of_type on feedback (project_id, feedback_type, created_at, sequence)",
  "create index feedback_of_user on feedback (project_id, vendor_user_id, created_at, sequence)",
  "create index feedback_by_time on feedback (project_id, created_at, sequence)",
  "create index feedback_of_queue on feedback (project_id, queue_id, created_at, sequence) where queue_id is not null",
  "create index feedback_with_emoji on feedback (project_id, emoji, created_at, sequence) where emoji is not null",
  "create index feedback_with_more_numbers on feedback (project_id, sequence) where has_more_numbers = 1",
  "create index feedback_by_call on feedback (project_id, call_id)",
  `create unique index feedback_as_replaced on feedback (project_id, replaced_sequence)
    where replaced_sequence is not null`,
  `create table feedback_fields (
    id bigint primary key, project_id text not null, path text not null, unique (project_id, path)
  )`,
  `create table feedback_numbers (
    field_id bigint not null, number double precision not null, sequence bigint not null,
    created_ms bigint not null, primary key (field_id, number, sequence)
  ) ${clusteredTable}`,
  `create table feedback_revisions (
    sequence integer, project_id text not null, id text not null, replaced_at text not null,
    record text not null
  )`,
  "create unique index feedback_revisions_in_order on feedback_revisions (project_id, id, sequence)",
  "create index feedback_revisions_by_time on feedback_revisions (replaced_at, project_id, id, sequence)",
  `create table files (
    id text not null primary key, sequence integer not null unique, entity text not null,
    name text not null, purpose text not null, byte_count bigint not null, created_at text not null,
    used_at text not null
  )`,
  "create index files_of_entity on files (entity, sequence)",
  `create table reward_rules (
    id text not null primary key, sequence integer not null unique, entity text not null,
    project text not null, name text not null, content text not null, standing text,
    model_id text references models (id) on delete set null, is_paused integer not null default 0,
    created_at text not null, updated_at text not null, owner text, read_to integer, fault text,
    unique (entity, project, name)
  )`,
  "create index reward_rules_of_model on reward_rules (model_id)",
  `create table rule_notes (
    rule_id text not null references reward_rules (id) on delete cascade, feedback_id text not null,
    prompt_hash text not null, primary key (rule_id, feedback_id)
  )`,
  "create index rule_notes_by_prompt on rule_notes (rule_id, prompt_hash, feedback_id)",
  `create table rule_prompts (
    rule_id text not null references reward_rules (id) on delete cascade, prompt_hash text not null,
    ready_since integer, job_id text, primary key (rule_id, prompt_hash)
  )`,
  "create index rule_prompts_ready on rule_prompts (rule_id, ready_since)",
  "create index rule_prompts_of_job on rule_prompts (rule_id, job_id)",
  `create table rule_jobs (
    rule_id text not null references reward_rules (id) on delete cascade,
    job_id text not null references jobs (id) on delete cascade, created_at text not null,
    token_count integer not null, primary key (rule_id, job_id)
  )`,
  "create index rule_jobs_in_order on rule_jobs (rule_id, created_at)",
  "create index rule_jobs_by_job on rule_jobs (job_id)",
  `create table job_sources (
    job_id text not null references jobs (id) on delete cascade, sequence integer not null,
    model_id text not null, answer text not null, is_trained integer not null, content text not null,
    primary key (job_id, sequence)
  )`,
  "create index job_sources_by_answer on job_sources (model_id, answer)",
  `create table annotation_queues (
    id text primary key, sequence integer not null unique, project_id text not null, name text not null,
    folded_name text not null, description text not null, scorer_refs text not null,
    questions text not null, annotators_per_item integer not null, created_at text not null,
    created_by text not null, updated_at text not null, deleted_at text,
    last_position integer not null default 0, last_change integer not null default 0
  )`,
  "create index annotation_queues_of_project on annotation_queues (project_id, sequence)",
  `create table annotation_items (
    id text primary key, queue_id text not null references annotation_queues (id) on delete cascade,
    position integer not null, vendor_ref text not null, call_id text not null,
    display_fields text not null, added_by text not null, created_at text not null,
    completed_count integer not null default 0, unique (queue_id, position), unique (queue_id, vendor_ref)
  )`,
  "create index annotation_items_to_do on annotation_items (queue_id, completed_count, position)",
  "create index annotation_items_by_call on annotation_items (call_id)",
  `create table annotation_states (
    item_id text not null references annotation_items (id) on delete cascade, annotator text not null,
    queue_id text not null, state text not null, held_until text, updated_at text not null,
    primary key (item_id, annotator)
  )`,
  "create index annotation_states_of_annotator on annotation_states (queue_id, annotator, state)",
  `create table webhooks (
    id text not null primary key, sequence integer not null unique, entity text not null, url text not null,
    events text not null, project_id text, feedback_type text, records_max integer not null,
    secret text not null, created_at text not null, disabled_at text, disabled_reason text,
    failing_since text, last_sequence integer not null default 0, pending_count integer not null default 0
  )`,
  "create index webhooks_of_entity on webhooks (entity, sequence)",
  `create table webhook_deliveries (
    id text not null primary key, webhook_id text not null references webhooks (id) on delete cascade,
    sequence integer not null, type text not null, subject text not null, state text not null,
    created_at text not null, tried_since text not null, due_at text, owner text, ended_at text,
    attempt_count integer not null default 0, attempts text not null default '[]'
  )`,
  "create unique index webhook_deliveries_in_order on webhook_deliveries (webhook_id, sequence)",
  "create index webhook_deliveries_by_state on webhook_deliveries (webhook_id, state, sequence)",
  "create index webhook_deliveries_due on webhook_deliveries (webhook_id, due_at)",
  "create index webhook_deliveries_ended on webhook_deliveries (ended_at)",
  `create table published_names (
    project_id text not null, kind text not null, name text not null, version_count integer not null,
    primary key (project_id, kind, name)
  )`,
  `create table published_objects (
    project_id text not null, kind text not null, name text not null, digest text not null,
    version integer not null, value text not null, base_class text, leaf_class text,
    created_at text not null, created_by text not null, primary key (project_id, kind, name, digest)
  )`,
  "create unique index published_objects_in_order on published_objects (project_id, name, kind, version)",
  `create table traced_tables (
    project_id text not null, digest text not null, row_count integer not null, created_at text not null,
    primary key (project_id, digest)
  )`,
  `create table traced_rows (
    project_id text not null, digest text not null, value text not null, primary key (project_id, digest)
  )`,
  `create table traced_table_rows (
    project_id text not null, table_digest text not null, row_index integer not null,
    row_digest text not null, primary key (project_id, table_digest, row_index)
  )`,
  "create index traced_table_rows_by_digest on traced_table_rows (project_id, row_digest, table_digest)",
  `create table traced_files (
    project_id text not null, digest text not null, file_id text not null unique, entity text not null,
    byte_count bigint not null, created_at text not null, primary key (project_id, digest)
  )`,
  "create index traced_files_of_entity on traced_files (entity, byte_count)",
  `create table traced_calls (
    project_id text not null, id text not null, trace_id text, parent_id text, op_name text,
    started_at text, ended_at text, about text, attributes text, inputs text, ending text, output text,
    summary text, created_by text not null, primary key (project_id, id)
  )`,
  "create index traced_calls_in_order on traced_calls (project_id, started_at, id)",
  "create index traced_calls_by_trace on traced_calls (project_id, trace_id, started_at, id)",
  "create index traced_calls_by_parent on traced_calls (project_id, parent_id, started_at, id)",
  `create table key_usage (
    day text not null, key_id text not null, model text not null, entity text not null,
    requests bigint not null, prompt_tokens bigint not null, cached_tokens bigint not null,
    completion_tokens bigint not null, training_tokens bigint not null, primary key (day, key_id, model)
  )`,
  "create index key_usage_of_entity on key_usage (entity, day)",
  `create table project_bytes (
    project_id text primary key, entity text not null, revision_bytes bigint not null default 0,
    record_bytes bigint not null default 0
  )`,
  "create index project_bytes_of_entity on project_bytes (entity)",
  `create table removed_data (
    day text not null, kind text not null, entity text not null, item_count bigint not null,
    byte_count bigint not null, last_at text not null, primary key (day, kind, entity)
  )`,
  "create table sweepers (place text primary key, owner text not null, until text not null)",
  `create table entity_limits (
    entity text not null primary key, requests_per_minute integer, tokens_per_minute integer,
    concurrent_requests integer, queue_percent integer, queued_jobs integer
  )`,
  `create table limit_slots (
    subject text not null, slot integer not null, requests bigint not null, tokens bigint not null,
    primary key (subject, slot)
  )`,
  "create index limit_slots_by_time on limit_slots (slot)",
  `create table limit_running (
    server_id text not null references servers (id) on delete cascade, subject text not null,
    count integer not null, primary key (server_id, subject)
  )`,
  "create index limit_running_of_subject on limit_running (subject)",
];

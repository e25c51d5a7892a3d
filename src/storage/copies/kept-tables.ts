// The tables that a copy of the database has, with their columns: all of the schema but what servers say of themselves while
// they have a lease. A table comes behind those that it refers to. Older databases have columns beside, which nobody reads.
import type { TableColumns } from "../../domain/backup/tables.ts";
import type { Schema } from "../schema.ts";

/** Of what servers say as long as they run. */
type OfServers = "servers" | "server_bases" | "server_versions";

type KeptColumns = {
  readonly [Table in Exclude<keyof Schema, OfServers>]: readonly (keyof Schema[Table] & string)[];
};

const keptColumns: KeptColumns = {
  sequences: ["list", "sequence"],
  access_keys: [
    "sequence",
    "id",
    "entity",
    "role",
    "owner",
    "secret_hash",
    "created_at",
    "revoked_at",
    "name",
    "expires_at",
    "scopes",
    "project",
    "last_used_at",
    "previous_hash",
    "previous_until",
  ],
  models: [
    "sequence", "id", "entity", "project", "name", "base_model", "adapter_rank", "adapter_alpha",
    "adapter_targets", "created_at", "last_log_sequence", "scenario_count", "trajectory_count",
    "completion_count", "last_turn",
  ],
  model_scenarios: ["model_id", "scenario_hash"],
  model_versions: [
    "id", "model_id", "step", "adapter_folder", "trainer_state", "job_id", "metrics",
    "own_metrics", "created_at", "is_pinned", "base", "adapter_hash", "copied_kind", "is_deleted",
  ],
  jobs: [
    "id", "sequence", "model_id", "kind", "state", "config", "config_not_applied", "created_at",
    "started_at", "ended_at", "error_message", "attempt_count", "lost_count", "restart_count",
    "has_advanced", "progress", "counts", "result_step", "cancel_requested", "owner", "not_before",
    "waits_since", "waiting_for", "warnings", "content_hash", "pins", "replay_of", "retry_of",
    "comparison",
    "key_id",
  ],
  job_groups: ["job_id", "group_index", "content"],
  job_events: ["job_id", "sequence", "type", "data"],
  job_idempotency: ["key_id", "idempotency_key", "body_hash", "job_id"],
  trajectory_logs: [
    "sequence", "id", "model_id", "split", "step", "recorded_at", "metrics", "group_count",
    "content_bytes",
  ],
  trajectory_groups: ["log_id", "group_index", "content"],
  trajectory_outlines: [
    "model_id", "sequence", "source", "source_id", "split", "step", "recorded_at", "reward",
    "part", "group_index", "item_index", "content",
  ],
  trajectory_counts: ["model_id", "source", "split", "step", "trajectory_count", "reward_sum"],
  feedback: [
    "project_id", "sequence", "id", "vendor_ref", "feedback_type", "vendor_user_id", "creator",
    "annotation_ref", "runnable_ref", "call_ref", "trigger_ref", "queue_id", "created_at",
    "content_hash", "payload", "exact", "emoji", "has_more_numbers", "last_revision_sequence",
    "replaced_sequence", "call_id",
  ],
  feedback_revisions: ["sequence", "project_id", "id", "replaced_at", "record"],
  feedback_fields: ["id", "project_id", "path"],
  feedback_numbers: ["field_id", "number", "sequence", "created_ms"],
  completion_pieces: ["model_id", "id", "parent_id", "use_count", "content"],
  recorded_completions: [
    "sequence", "model_id", "entity", "project_id", "call_id", "step", "ended_at", "byte_count",
    "is_whole", "outline", "message_piece", "token_piece", "content",
  ],
  files: ["id", "sequence", "entity", "name", "purpose", "byte_count", "created_at", "used_at"],
  reward_rules: [
    "id", "sequence", "entity", "project", "name", "content", "standing", "model_id", "is_paused",
    "created_at", "updated_at", "owner", "read_to", "fault",
  ],
  rule_notes: ["rule_id", "feedback_id", "prompt_hash"],
  rule_prompts: ["rule_id", "prompt_hash", "ready_since", "job_id"],
  rule_jobs: ["rule_id", "job_id", "created_at", "token_count"],
  job_sources: ["job_id", "sequence", "model_id", "answer", "is_trained", "content"],
  annotation_queues: [
    "id", "sequence", "project_id", "name", "folded_name", "description", "scorer_refs",
    "questions", "annotators_per_item", "created_at", "created_by", "updated_at", "deleted_at",
    "last_position", "last_change",
  ],
  annotation_items: [
    "id", "queue_id", "position", "vendor_ref", "call_id", "display_fields", "added_by",
    "created_at", "completed_count",
  ],
  annotation_states: ["item_id", "annotator", "queue_id", "state", "held_until", "updated_at"],
  webhooks: [
    "id", "sequence", "entity", "url", "events", "project_id", "feedback_type", "records_max",
    "secret", "created_at", "disabled_at", "disabled_reason", "failing_since", "last_sequence",
    "pending_count",
  ],
  webhook_deliveries: [
    "id", "webhook_id", "sequence", "type", "subject", "state", "created_at", "tried_since",
    "due_at", "owner", "ended_at", "attempt_count", "attempts",
  ],
  published_names: ["project_id", "kind", "name", "version_count"],
  published_objects: [
    "project_id", "kind", "name", "digest", "version", "value", "base_class", "leaf_class",
    "created_at", "created_by",
  ],
  traced_tables: ["project_id", "digest", "row_count", "created_at"],
  traced_rows: ["project_id", "digest", "value"],
  traced_table_rows: ["project_id", "table_digest", "row_index", "row_digest"],
  traced_files: ["project_id", "digest", "file_id", "entity", "byte_count", "created_at"],
  traced_calls: [
    "project_id", "id", "trace_id", "parent_id", "op_name", "started_at", "ended_at", "about",
    "attributes", "inputs", "ending", "output", "summary", "created_by",
  ],
  key_usage: [
    "day",
    "key_id",
    "model",
    "entity",
    "requests",
    "prompt_tokens",
    "cached_tokens",
    "completion_tokens",
    "training_tokens",
  ],
};

export const keptTables: readonly TableColumns[] = Object.entries(keptColumns).map(([table, columns]) => ({
  table,
  columns,
}));
// Tables with the columns that the stores use; a database that was created by an older version has additional columns.
// Times are ISO 8601 in UTC with milliseconds, which sort as text; flags are 0 or 1. JSON is stored as text in which
// NUL is escaped, because libsql cuts a text at a NUL character.
import type { Generated } from "kysely";
import type { keyFields } from "../../base/domain/access.ts";
import type { queueFields } from "../../base/domain/annotation/queue.ts";
import type { limitFields } from "../../base/domain/keys/limits.ts";
import type { usageFields } from "../../base/domain/keys/usage.ts";
import type { webhookFields } from "../../base/domain/webhooks/webhook.ts";
import type { ColumnsOf } from "./columns/resource-columns.ts";
import type { RewardTables } from "./rewards/reward-tables.ts";
import type { TraceTables } from "./traces/trace-tables.ts";

export interface Schema extends RewardTables, TraceTables {
  readonly access_keys: AccessKeyTable;
  readonly key_usage: UsageTable;
  readonly entity_limits: EntityLimitTable;
  readonly limit_slots: LimitSlotTable;
  readonly limit_running: LimitRunningTable;
  readonly models: ModelTable;
  readonly model_versions: ModelVersionTable;
  readonly jobs: JobTable;
  readonly job_groups: JobGroupTable;
  readonly job_events: JobEventTable;
  readonly job_idempotency: JobIdempotencyTable;
  readonly trajectory_logs: TrajectoryLogTable;
  readonly trajectory_groups: TrajectoryGroupTable;
  readonly trajectory_outlines: TrajectoryOutlineTable;
  readonly trajectory_counts: TrajectoryCountTable;
  readonly feedback: FeedbackTable;
  readonly feedback_revisions: FeedbackRevisionTable;
  readonly feedback_fields: FeedbackFieldTable;
  readonly feedback_numbers: FeedbackNumberTable;
  readonly recorded_completions: RecordedCompletionTable;
  readonly completion_pieces: CompletionPieceTable;
  readonly model_scenarios: ModelScenarioTable;
  readonly files: FileTable;
  readonly sequences: SequenceTable;
  readonly servers: ServerTable;
  readonly server_bases: ServerBaseTable;
  readonly server_versions: ServerVersionTable;
  readonly annotation_queues: AnnotationQueueTable;
  readonly annotation_items: AnnotationItemTable;
  readonly annotation_states: AnnotationStateTable;
  readonly webhooks: WebhookTable;
  readonly webhook_deliveries: WebhookDeliveryTable;
  readonly project_bytes: ProjectBytesTable;
  readonly removed_data: RemovedDataTable;
  readonly sweepers: SweeperTable;
}

/** Number of bytes stored for a project's feedback. */
export interface ProjectBytesTable {
  readonly project_id: string;
  readonly entity: string;
  /** Size of the payloads of the project's records in bytes. */
  readonly record_bytes: Generated<number>;
  readonly revision_bytes: Generated<number>;
}

/** Totals of data removed by the retention limits. */
export interface RemovedDataTable {
  readonly day: string;
  readonly kind: string;
  readonly entity: string;
  readonly item_count: number;
  readonly byte_count: number;
  readonly last_at: string;
}

/** The server that currently runs the retention sweep. */
export interface SweeperTable {
  readonly place: string;
  readonly owner: string;
  readonly until: string;
}

/** Servers that hold a lease. */
export interface ServerTable {
  readonly id: string;
  readonly lease_until: string;
  readonly artifacts: string | null;
}

/** Base models on which each server can run jobs. */
export interface ServerBaseTable {
  readonly server_id: string;
  readonly base_model: string;
}

/** Versions for which each server has running requests. */
export interface ServerVersionTable {
  readonly server_id: string;
  readonly model_id: string;
  readonly step: number;
}

/** Last number assigned in each list; see paging.ts. */
export interface SequenceTable {
  readonly list: string;
  readonly sequence: number;
}

export interface FileTable {
  readonly id: string;
  readonly sequence: number;
  readonly entity: string;
  /** Name as JSON. */
  readonly name: string;
  readonly purpose: string;
  readonly byte_count: number;
  readonly created_at: string;
  readonly used_at: string;
}

export interface AccessKeyTable extends ColumnsOf<typeof keyFields> {
  readonly sequence: number;
  readonly id: string;
  readonly entity: string;
  readonly role: string;
  readonly owner: string;
  readonly secret_hash: string;
  readonly created_at: string;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
  /** Hash of the secret before the last rotation; null, like `previous_until`, if the key was never rotated. */
  readonly previous_hash: string | null;
  readonly previous_until: string | null;
}

export interface EntityLimitTable extends ColumnsOf<typeof limitFields> {
  readonly entity: string;
}

/** Requests counted by all servers in a time slot. */
export interface LimitSlotTable {
  readonly subject: string;
  /** Number of the slot, counted from 1970. */
  readonly slot: number;
  readonly requests: number;
  readonly tokens: number;
}

/** Number of running requests on each server. */
export interface LimitRunningTable {
  readonly server_id: string;
  readonly subject: string;
  readonly count: number;
}

export interface UsageTable extends ColumnsOf<typeof usageFields> {
  /** Day as `YYYY-MM-DD`. */
  readonly day: string;
  readonly key_id: string;
  readonly entity: string;
  readonly model: string;
}

export interface ModelTable {
  readonly sequence: number;
  readonly id: string;
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  readonly base_model: string;
  readonly adapter_rank: number | null;
  readonly adapter_alpha: number | null;
  /** Names of the adapted modules as a JSON list. */
  readonly adapter_targets: string | null;
  readonly created_at: string;
  readonly last_log_sequence: Generated<number>;
  readonly scenario_count: Generated<number>;
  /** Sequence number of the newest trajectory in the model's logs and jobs. */
  readonly trajectory_count: Generated<number>;
  /** Number of the model's recorded completions. */
  readonly completion_count: Generated<number>;
  /**
   * Size of the model's trajectory logs in bytes. `job_bytes` is the size of its job data, and `completion_bytes` that
   * of its recorded completions. See retention/model-bytes.
   */
  readonly log_bytes: Generated<number>;
  readonly job_bytes: Generated<number>;
  readonly completion_bytes: Generated<number>;
  /**
   * Number of the turn in which a job of the model was last claimed; 0 before the first claim. Of two models, the one
   * with the smaller number has waited longer.
   */
  readonly last_turn: Generated<number>;
}

/** Distinct scenarios of a model so far, identified by SHA-256. */
export interface ModelScenarioTable {
  readonly model_id: string;
  readonly scenario_hash: string;
}

export interface ModelVersionTable {
  readonly id: string;
  readonly model_id: string;
  readonly step: number;
  readonly adapter_folder: string | null;
  readonly trainer_state: string | null;
  /** Job that created the version. Unique, because a job creates at most one version. */
  readonly job_id: string | null;
  readonly metrics: string;
  /** Metrics with which the version was created. Logs never replace these. */
  readonly own_metrics: Generated<string>;
  readonly created_at: string;
  readonly is_pinned: Generated<number>;
  /** Base model on which the version was trained; null for step 0, or if unknown. */
  readonly base: string | null;
  readonly adapter_hash: string | null;
  readonly copied_kind: string | null;
  /**
   * 1 if the version was deleted. The row is kept, so that its step is not reused and cursors at the version stay
   * valid.
   */
  readonly is_deleted: number;
}

export interface JobTable {
  readonly id: string;
  /**
   * Position in submission order, which is the order in which a model's jobs run. Null until the submission is
   * complete.
   */
  readonly sequence: number | null;
  readonly model_id: string;
  readonly kind: Generated<string>;
  readonly state: string;
  readonly config: string;
  readonly config_not_applied: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly error_message: string | null;
  readonly attempt_count: number;
  readonly lost_count: number;
  readonly restart_count: number;
  /** 1 if the running or last attempt saved further steps than those from which it started. */
  readonly has_advanced: Generated<number>;
  readonly progress: string | null;
  readonly counts: string | null;
  readonly result_step: number | null;
  readonly cancel_requested: number;
  /**
   * Server that runs the job. For a queued job, the server that returned it to the queue because the server's machine
   * lacks something that the job needs.
   */
  readonly owner: string | null;
  /** Time before which a queued job is not claimed. */
  readonly not_before: string;
  /**
   * Time when `not_before` was set. A clock that shows an earlier time has been set back, so `not_before` can no
   * longer be trusted.
   */
  readonly waits_since: string;
  readonly waiting_for: string | null;
  readonly warnings: string;
  readonly content_hash: string;
  readonly pins: string | null;
  readonly replay_of: string | null;
  readonly retry_of: string | null;
  readonly comparison: string | null;
  /** Size of the training data in bytes, plus the size of the events once the job has ended; 0 after removal. */
  readonly content_bytes: Generated<number>;
  /** Time when removal of the data began. From then on, the data counts as removed. */
  readonly data_removed_at: Generated<string | null>;
  /** API key of the request that created the job; null if no key did. */
  readonly key_id: string | null;
  /** Request that created the job, as JSON; null if no request did. */
  readonly made_by: string | null;
}

export interface JobGroupTable {
  readonly job_id: string;
  readonly group_index: number;
  readonly content: string;
}

export interface JobEventTable {
  readonly job_id: string;
  /** Position in the job's list of events. It is unique within the job, so storing the same event twice has no effect. */
  readonly sequence: number;
  readonly type: string;
  readonly data: string;
}

export interface JobIdempotencyTable {
  readonly key_id: string;
  readonly idempotency_key: string;
  readonly body_hash: string;
  readonly job_id: string;
}

export interface TrajectoryLogTable {
  readonly sequence: number;
  readonly id: string;
  readonly model_id: string;
  readonly split: string;
  readonly step: number;
  readonly recorded_at: string;
  readonly metrics: string;
  readonly group_count: number;
  readonly content_bytes: number;
  /** Time when removal began. From then on, the log counts as removed. */
  readonly removed_at: Generated<string | null>;
  /**
   * Tally of the version's logs under this split, up to and including this log. Null if one of these logs has no
   * tally.
   */
  readonly tally: Generated<string | null>;
}

export interface TrajectoryGroupTable {
  readonly log_id: string;
  readonly group_index: number;
  readonly content: string;
}

/** Summary of each stored trajectory, for list requests; see summaries.ts. */
export interface TrajectoryOutlineTable {
  readonly model_id: string;
  /** Number of the trajectory among the model's trajectories. */
  readonly sequence: number;
  readonly source: string;
  readonly source_id: string;
  readonly split: string;
  readonly step: number | null;
  readonly recorded_at: string;
  readonly reward: number;
  readonly part: number;
  readonly group_index: number;
  readonly item_index: number;
  /** All other fields of the summary as JSON. */
  readonly content: string;
}

/** Number of trajectories by kind. */
export interface TrajectoryCountTable {
  readonly model_id: string;
  readonly source: string;
  readonly split: string;
  /** Step; -1 for trajectories without a step. */
  readonly step: number;
  readonly trajectory_count: number;
  readonly reward_sum: number;
}

/** Feedback records. Texts are stored in the form that queries compare; see feedback/feedback-rows.ts. */
export interface FeedbackTable {
  readonly project_id: string;
  /** Position in storage order. */
  readonly sequence: number;
  readonly id: string;
  readonly vendor_ref: string;
  readonly feedback_type: string;
  readonly vendor_user_id: string;
  readonly creator: string | null;
  readonly annotation_ref: string | null;
  readonly runnable_ref: string | null;
  readonly call_ref: string | null;
  readonly trigger_ref: string | null;
  readonly queue_id: string | null;
  readonly created_at: string;
  readonly content_hash: string;
  /** Payload as JSON. */
  readonly payload: string;
  /** Exact texts as JSON, if they differ from the form that queries compare. Null for nearly all records. */
  readonly exact: string | null;
  /** Emoji of the payload, for lookups; null if the payload has no emoji. */
  readonly emoji: string | null;
  /** 1 if the payload has numbers that are missing from the index of numbers. */
  readonly has_more_numbers: Generated<number>;
  readonly last_revision_sequence: Generated<number>;
  /** Position of the current content in storage order; null if the record was never replaced. */
  readonly replaced_sequence: number | null;
  /**
   * Id of the call to which the record refers, as spelled in references; null if the record refers to no call of its
   * project.
   */
  readonly call_id: string | null;
}

/** Payload paths at which a project's feedback has numbers. */
export interface FeedbackFieldTable {
  readonly id: number;
  readonly project_id: string;
  /** Steps of the path as JSON. */
  readonly path: string;
}

/** Index of the numbers in feedback records, one row for each number. */
export interface FeedbackNumberTable {
  readonly field_id: number;
  readonly number: number;
  /** Sequence number of the record; `created_ms` is its creation time in milliseconds since 1970. */
  readonly sequence: number;
  readonly created_ms: number;
}

export interface FeedbackRevisionTable {
  readonly sequence: number;
  readonly project_id: string;
  readonly id: string;
  readonly replaced_at: string;
  readonly record: string;
}

/** Recorded completions of trained models; see completions/. */
export interface RecordedCompletionTable {
  readonly sequence: number;
  readonly model_id: string;
  readonly entity: string;
  readonly project_id: string;
  /** Id of the request, as spelled in references. */
  readonly call_id: string;
  readonly step: number;
  readonly ended_at: string;
  readonly byte_count: number;
  readonly is_whole: number;
  /** All other fields of the list summary as JSON. */
  readonly outline: string;
  /** Last piece of the completion's messages. */
  readonly message_piece: string | null;
  /** Last piece of the prompt's tokens. */
  readonly token_piece: string | null;
  /** The part of the completion's content that is not in shared pieces; null if the recording is incomplete. */
  readonly content: string | null;
}

/** Prompt prefixes, shared by the completions of a model. */
export interface CompletionPieceTable {
  readonly model_id: string;
  readonly id: string;
  readonly parent_id: string | null;
  /** Number of pieces that continue this piece, plus the number of completions that end with it. */
  readonly use_count: number;
  readonly content: string;
}

export interface AnnotationQueueTable extends ColumnsOf<typeof queueFields> {
  readonly id: string;
  readonly sequence: number;
  readonly project_id: string;
  /** Name in lower case. */
  readonly folded_name: string;
  readonly created_at: string;
  readonly created_by: string;
  readonly updated_at: string;
  readonly deleted_at: string | null;
  /** Number of items in the queue, which is the position of the last one. */
  readonly last_position: Generated<number>;
  /** Number of changes in the queue so far. Incrementing it locks the queue. */
  readonly last_change: Generated<number>;
}

export interface AnnotationItemTable {
  readonly id: string;
  readonly queue_id: string;
  readonly position: number;
  readonly vendor_ref: string;
  readonly call_id: string;
  readonly display_fields: string;
  readonly added_by: string;
  readonly created_at: string;
  /** Number of annotators whose state is `completed`. */
  readonly completed_count: Generated<number>;
}

/** Progress of an annotator on an item. There is no row before the annotator begins. */
export interface AnnotationStateTable {
  readonly item_id: string;
  readonly annotator: string;
  readonly queue_id: string;
  readonly state: string;
  /** End of the annotator's hold; null unless the state is in progress. */
  readonly held_until: string | null;
  readonly updated_at: string;
}

export interface WebhookTable extends ColumnsOf<typeof webhookFields> {
  readonly id: string;
  readonly sequence: number;
  readonly entity: string;
  readonly secret: string;
  readonly created_at: string;
  readonly disabled_at: string | null;
  readonly disabled_reason: string | null;
  readonly failing_since: string | null;
  readonly last_sequence: Generated<number>;
  /** Number of unfinished deliveries. */
  readonly pending_count: Generated<number>;
}

export interface WebhookDeliveryTable {
  readonly id: string;
  readonly webhook_id: string;
  /** Number of the delivery among those of its webhook. */
  readonly sequence: number;
  readonly type: string;
  /** Subject of the event, as JSON. */
  readonly subject: string;
  readonly state: string;
  readonly created_at: string;
  readonly tried_since: string;
  /**
   * Time of the next attempt. During an attempt, the time after which another server may take over the delivery. Null
   * once the delivery is finished.
   */
  readonly due_at: string | null;
  readonly owner: string | null;
  readonly ended_at: string | null;
  readonly attempt_count: Generated<number>;
  /** Latest attempts as JSON. */
  readonly attempts: Generated<string>;
}

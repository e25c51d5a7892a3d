// The tables with the columns that the stores use; older databases have more. Times are ISO 8601 in UTC with milliseconds,
// which sort as text; JSON is text, since libsql cuts plain text at a NUL character and JSON escapes it; flags are 0 or 1.
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

/** What is stored of a project's feedback. */
export interface ProjectBytesTable {
  readonly project_id: string;
  readonly entity: string;
  /** Of the payloads of its records. */
  readonly record_bytes: Generated<number>;
  readonly revision_bytes: Generated<number>;
}

/** What was removed by the limits of retention. */
export interface RemovedDataTable {
  readonly day: string;
  readonly kind: string;
  readonly entity: string;
  readonly item_count: number;
  readonly byte_count: number;
  readonly last_at: string;
}

/** The server that removes what does not stay. */
export interface SweeperTable {
  readonly place: string;
  readonly owner: string;
  readonly until: string;
}

/** The servers that have a lease. */
export interface ServerTable {
  readonly id: string;
  readonly lease_until: string;
  readonly artifacts: string | null;
}

/** The base models that each can run jobs over. */
export interface ServerBaseTable {
  readonly server_id: string;
  readonly base_model: string;
}

/** The versions that each has requests on. */
export interface ServerVersionTable {
  readonly server_id: string;
  readonly model_id: string;
  readonly step: number;
}

/** How far the numbers of each list are given out; see sequences.ts. */
export interface SequenceTable {
  readonly list: string;
  readonly sequence: number;
}

export interface FileTable {
  readonly id: string;
  readonly sequence: number;
  readonly entity: string;
  /** As JSON. */
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
  /** Both are null where it was never rotated. */
  readonly previous_hash: string | null;
  readonly previous_until: string | null;
}

export interface EntityLimitTable extends ColumnsOf<typeof limitFields> {
  readonly entity: string;
}

/** What all servers counted in a slot of time. */
export interface LimitSlotTable {
  readonly subject: string;
  /** Whole ones since 1970. */
  readonly slot: number;
  readonly requests: number;
  readonly tokens: number;
}

/** The requests that run on each server. */
export interface LimitRunningTable {
  readonly server_id: string;
  readonly subject: string;
  readonly count: number;
}

export interface UsageTable extends ColumnsOf<typeof usageFields> {
  /** `YYYY-MM-DD` */
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
  /** A JSON list of their names. */
  readonly adapter_targets: string | null;
  readonly created_at: string;
  readonly last_log_sequence: Generated<number>;
  readonly scenario_count: Generated<number>;
  /** Of those stored with its logs and jobs: the number of the newest. */
  readonly trajectory_count: Generated<number>;
  /** Of those that are recorded of it. */
  readonly completion_count: Generated<number>;
  /** Of its logs, of the data of its jobs, and of what is recorded of it; see retention/model-bytes. */
  readonly log_bytes: Generated<number>;
  readonly job_bytes: Generated<number>;
  readonly completion_bytes: Generated<number>;
  /** Greater than that of every model whose job was claimed before; 0 before the first claim. */
  readonly last_turn: Generated<number>;
}

/** The different scenarios that a model has seen, by their SHA-256. */
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
  /** Unique: a job makes at most one version, whatever happens. */
  readonly job_id: string | null;
  readonly metrics: string;
  /** Those of the metrics that the version came with: no log replaces them. */
  readonly own_metrics: Generated<string>;
  readonly created_at: string;
  readonly is_pinned: Generated<number>;
  /** What it was trained over; null for step 0, and where nothing is known of it. */
  readonly base: string | null;
  readonly adapter_hash: string | null;
  readonly copied_kind: string | null;
  /** The row stays after deletion, so that its step is not used again and cursors at it hold. */
  readonly is_deleted: number;
}

export interface JobTable {
  readonly id: string;
  /** The order of submission: jobs of one model run in it. Null until the submission is complete. */
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
  /** Whether the attempt that runs, or ran last, kept further steps. */
  readonly has_advanced: Generated<number>;
  readonly progress: string | null;
  readonly counts: string | null;
  readonly result_step: number | null;
  readonly cancel_requested: number;
  /** The server that runs it, or that gave it back to wait for something that its machine lacks. */
  readonly owner: string | null;
  /** A queued job is not claimed before this. */
  readonly not_before: string;
  /** When `not_before` was set; a clock that shows less has stepped back. */
  readonly waits_since: string;
  readonly waiting_for: string | null;
  readonly warnings: string;
  readonly content_hash: string;
  readonly pins: string | null;
  readonly replay_of: string | null;
  readonly retry_of: string | null;
  readonly comparison: string | null;
  /** Of what it trains on, and from its end on of its events; 0 once that is removed. */
  readonly content_bytes: Generated<number>;
  /** When that began to be removed; it is not there from then on. */
  readonly data_removed_at: Generated<string | null>;
  /** The key that asked for it; null where none did. */
  readonly key_id: string | null;
  /** Which request made it, as JSON; null where none did. */
  readonly made_by: string | null;
}

export interface JobGroupTable {
  readonly job_id: string;
  readonly group_index: number;
  readonly content: string;
}

export interface JobEventTable {
  readonly job_id: string;
  /** Unique in the job: what makes a repeated event harmless. Events come in its order. */
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
  /** When it began to be removed; it is not there from then on. */
  readonly removed_at: Generated<string | null>;
  /** Tally of all logs under the split at the version, up to this one; null if a log has none. */
  readonly tally: Generated<string | null>;
}

export interface TrajectoryGroupTable {
  readonly log_id: string;
  readonly group_index: number;
  readonly content: string;
}

/** What lists say of each stored trajectory; see outlines.ts. */
export interface TrajectoryOutlineTable {
  readonly model_id: string;
  /** Its number among those of its model. */
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
  /** The rest of the outline as JSON. */
  readonly content: string;
}

/** How many of them there are, of each kind. */
export interface TrajectoryCountTable {
  readonly model_id: string;
  readonly source: string;
  readonly split: string;
  /** -1 for those that have none. */
  readonly step: number;
  readonly trajectory_count: number;
  readonly reward_sum: number;
}

/** Texts are as queries see them; see feedback/feedback-rows.ts. */
export interface FeedbackTable {
  readonly project_id: string;
  /** In the order in which they were stored. */
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
  /** As JSON. */
  readonly payload: string;
  /** What texts of it are, as JSON, where that is not what queries see; null for nearly all. */
  readonly exact: string | null;
  /** What is found by: the payload's emoji, where it has one. */
  readonly emoji: string | null;
  /** Whether the payload has numbers that the index of numbers lacks. */
  readonly has_more_numbers: Generated<number>;
  readonly last_revision_sequence: Generated<number>;
  /** Its number among all as it is now; null of one that was never replaced. */
  readonly replaced_sequence: number | null;
  /** The call that it is on, as references spell its id; null where it is on none of its project. */
  readonly call_id: string | null;
}

/** The paths at which payloads of a project have numbers. */
export interface FeedbackFieldTable {
  readonly id: number;
  readonly project_id: string;
  /** The steps as JSON. */
  readonly path: string;
}

/** The numbers of records, for finding them. */
export interface FeedbackNumberTable {
  readonly field_id: number;
  readonly number: number;
  /** Of the record, as its time, in milliseconds since 1970. */
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

/** Completions of trained models; see completions/. */
export interface RecordedCompletionTable {
  readonly sequence: number;
  readonly model_id: string;
  readonly entity: string;
  readonly project_id: string;
  /** The request's id as references spell it. */
  readonly call_id: string;
  readonly step: number;
  readonly ended_at: string;
  readonly byte_count: number;
  readonly is_whole: number;
  /** The rest of what lists say of it as JSON. */
  readonly outline: string;
  /** The last of the pieces of its messages. */
  readonly message_piece: string | null;
  /** The last of the pieces of its prompt's tokens. */
  readonly token_piece: string | null;
  /** What is stored of it alone; null where it is not whole. */
  readonly content: string | null;
}

/** Beginnings of prompts, which the completions of a model share. */
export interface CompletionPieceTable {
  readonly model_id: string;
  readonly id: string;
  readonly parent_id: string | null;
  /** Pieces that go on from it, and completions whose last it is. */
  readonly use_count: number;
  readonly content: string;
}

export interface AnnotationQueueTable extends ColumnsOf<typeof queueFields> {
  readonly id: string;
  readonly sequence: number;
  readonly project_id: string;
  /** In lower case. */
  readonly folded_name: string;
  readonly created_at: string;
  readonly created_by: string;
  readonly updated_at: string;
  readonly deleted_at: string | null;
  /** As many as it has items. */
  readonly last_position: Generated<number>;
  /** Counts what was changed in it, which locks it. */
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
  /** How many annotators are at `completed`. */
  readonly completed_count: Generated<number>;
}

/** How far an annotator is with an item; nobody who has not begun. */
export interface AnnotationStateTable {
  readonly item_id: string;
  readonly annotator: string;
  readonly queue_id: string;
  readonly state: string;
  /** Null unless it is in progress. */
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
  /** Of its deliveries, those that are not over. */
  readonly pending_count: Generated<number>;
}

export interface WebhookDeliveryTable {
  readonly id: string;
  readonly webhook_id: string;
  /** Its number among those of its webhook. */
  readonly sequence: number;
  readonly type: string;
  /** What it is about, as JSON. */
  readonly subject: string;
  readonly state: string;
  readonly created_at: string;
  readonly tried_since: string;
  /** Null once it is over; of one that is being sent, when its owner loses it. */
  readonly due_at: string | null;
  readonly owner: string | null;
  readonly ended_at: string | null;
  readonly attempt_count: Generated<number>;
  /** The latest, as JSON. */
  readonly attempts: Generated<string>;
}

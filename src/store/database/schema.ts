// Types of the database tables, with the columns that the stores use; older databases have additional columns. Times
// are ISO 8601 in UTC with milliseconds, so that text order is time order; flags are 0 or 1. JSON is text in which NUL
// is escaped, because libsql truncates text at a NUL.
import type { Generated } from "kysely";
import type { keyFields } from "../../base/domain/access.ts";
import type { queueFields } from "../../base/domain/annotation/queue.ts";
import type { limitFields } from "../../base/domain/keys/limits.ts";
import type { usageFields } from "../../base/domain/keys/usage.ts";
import type { webhookFields } from "../../base/domain/webhooks/webhook.ts";
import type { ColumnsOf } from "./columns/resource-columns.ts";
import type { FineTuningTables } from "./fine-tuning/fine-tuning-rows.ts";
import type { LearningTables } from "./learning/learning-rows.ts";
import type { RewardTables } from "./rewards/reward-tables.ts";
import type { TraceTables } from "./traces/trace-tables.ts";
import type { JobRolloutTable, RolloutTable } from "./rollouts/rollout-rows.ts";

export interface Schema extends FineTuningTables, LearningTables, RewardTables, TraceTables {
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
  readonly rollouts: RolloutTable;
  readonly job_rollouts: JobRolloutTable;
  readonly completion_pieces: CompletionPieceTable;
  readonly model_scenarios: ModelScenarioTable;
  readonly files: FileTable;
  readonly uploads: UploadTable;
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

/** Bytes that the feedback of each project uses. */
export interface ProjectBytesTable {
  readonly project_id: string;
  readonly entity: string;
  /** Total size in bytes of the payloads of the project's current feedback records. */
  readonly record_bytes: Generated<number>;
  readonly revision_bytes: Generated<number>;
}

/** Number and size of the items that retention removed, by day, kind of data and entity. */
export interface RemovedDataTable {
  readonly day: string;
  readonly kind: string;
  readonly entity: string;
  readonly item_count: number;
  readonly byte_count: number;
  readonly last_at: string;
}

/** Lease of the server that currently runs retention sweeps. */
export interface SweeperTable {
  readonly place: string;
  readonly owner: string;
  readonly until: string;
}

/** Servers that are running. Each renews its row before `lease_until`. */
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

/** Model versions that each server uses for requests in progress. */
export interface ServerVersionTable {
  readonly server_id: string;
  readonly model_id: string;
  readonly step: number;
}

/** Last assigned sequence number of each list; see paging.ts. */
export interface SequenceTable {
  readonly list: string;
  readonly sequence: number;
}

export interface FileTable {
  readonly id: string;
  readonly sequence: number;
  readonly entity: string;
  /** File name, encoded as a JSON string because it may contain any character. */
  readonly name: string;
  readonly purpose: string;
  readonly byte_count: number;
  readonly created_at: string;
  readonly used_at: string;
  readonly expires_at: string | null;
}

export interface UploadTable {
  readonly id: string;
  readonly entity: string;
  /** File name, encoded as a JSON string because it may contain any character. */
  readonly name: string;
  readonly purpose: string;
  readonly byte_count: number;
  readonly state: string;
  /** The parts, as JSON. */
  readonly parts: string;
  /** Total size of the parts in bytes. */
  readonly part_bytes: number;
  readonly created_at: string;
  readonly expires_at: string;
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
  /** Hash of the key's previous secret. This column and `previous_until` are null if the key was never rotated. */
  readonly previous_hash: string | null;
  readonly previous_until: string | null;
}

export interface EntityLimitTable extends ColumnsOf<typeof limitFields> {
  readonly entity: string;
}

/** Numbers of requests and tokens of a key or entity in a time slot, summed over all servers. */
export interface LimitSlotTable {
  readonly subject: string;
  /** Number of time slots between 1970 and this slot. */
  readonly slot: number;
  readonly requests: number;
  readonly tokens: number;
}

/** Number of requests of a key or entity that are in progress on a server. */
export interface LimitRunningTable {
  readonly server_id: string;
  readonly subject: string;
  readonly count: number;
}

export interface UsageTable extends ColumnsOf<typeof usageFields> {
  /** Day of the usage as `YYYY-MM-DD`, in UTC. */
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
  /** JSON array with the names of the modules that the model's adapters cover; null for the default. */
  readonly adapter_targets: string | null;
  readonly created_at: string;
  readonly last_log_sequence: Generated<number>;
  readonly scenario_count: Generated<number>;
  /** The highest trajectory number so far. A model numbers the trajectories of its logs and jobs together. */
  readonly trajectory_count: Generated<number>;
  /** Number of the model's recorded completions. */
  readonly completion_count: Generated<number>;
  /**
   * Total size in bytes of the model's logs. The next two columns are the total sizes of its job data and of its
   * recorded completions; see retention/model-bytes.ts.
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

/** Scenarios that a model has seen, each identified by the SHA-256 of its id. */
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
  /**
   * Id of the job that created the version; null if no job did. The column is unique, because a job creates at most one
   * version.
   */
  readonly job_id: string | null;
  readonly metrics: string;
  /**
   * Metrics that the version had when it was created. Metrics of later logs are merged into `metrics`, but never
   * replace these.
   */
  readonly own_metrics: Generated<string>;
  readonly created_at: string;
  readonly is_pinned: Generated<number>;
  /** SHA-256 of the weights of the base model that the version was trained on; null for step 0, or if unknown. */
  readonly base: string | null;
  readonly adapter_hash: string | null;
  readonly copied_kind: string | null;
  /** Name under which a client of the Tinker API saved the version, such as `weights/first`; null if none did. */
  readonly saved_as: Generated<string | null>;
  /** JSON with the client's metadata and its name for the base model; null without a saved name. */
  readonly saved_metadata: Generated<string | null>;
  /** Time from which a saved version is deleted; null to keep it. */
  readonly expires_at: Generated<string | null>;
  /** JSON that says why a version of a learning model is held back; null for versions that are served. */
  readonly held: Generated<string | null>;
  /**
   * 1 if the version was deleted, otherwise 0. The row of a deleted version is kept, so that the version's number is
   * never reused, and page cursors with this number stay valid.
   */
  readonly is_deleted: number;
}

export interface JobTable {
  readonly id: string;
  /**
   * Position of the job in the order of submission, in which a model's jobs run. Null until the submission is complete.
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
  /** 1 if the job's current or last attempt saved more steps than were saved when the attempt began, otherwise 0. */
  readonly has_advanced: Generated<number>;
  readonly progress: string | null;
  readonly counts: string | null;
  readonly result_step: number | null;
  readonly cancel_requested: number;
  /**
   * Id of the server that runs the job. If a server returned the job to the queue because its machine lacked a
   * resource, the column keeps the id of that server.
   */
  readonly owner: string | null;
  /** Earliest time at which a queued job may be claimed. */
  readonly not_before: string;
  /**
   * Time when `not_before` was set. If the clock shows an earlier time, it was set back, and `not_before` is ignored.
   */
  readonly waits_since: string;
  readonly waiting_for: string | null;
  readonly warnings: string;
  readonly content_hash: string;
  readonly pins: string | null;
  readonly replay_of: string | null;
  readonly retry_of: string | null;
  readonly comparison: string | null;
  /**
   * Size of the job's training data in bytes. When the job ends, the size of its events is added. 0 after the data was
   * removed.
   */
  readonly content_bytes: Generated<number>;
  /**
   * Time when retention began to remove the job's data; null if it has not. From then on, the data counts as removed.
   */
  readonly data_removed_at: Generated<string | null>;
  /** Id of the API key with which the job was submitted; null if it was submitted without a key. */
  readonly key_id: string | null;
  /** JSON with the id and trace of the request that created the job; null if no request created it. */
  readonly made_by: string | null;
}

export interface JobGroupTable {
  readonly job_id: string;
  readonly group_index: number;
  readonly content: string;
}

export interface JobEventTable {
  readonly job_id: string;
  /**
   * Position of the event in its job's list. It is unique within the job, so storing the same event twice has no
   * effect.
   */
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
  /** Time when retention began to remove the log; null if it has not. From then on, the log counts as removed. */
  readonly removed_at: Generated<string | null>;
  /**
   * Combined measurements (`LogTally`) of this log and all earlier logs with the same version and split, as JSON. Null
   * if one of these logs has no measurements.
   */
  readonly tally: Generated<string | null>;
}

export interface TrajectoryGroupTable {
  readonly log_id: string;
  readonly group_index: number;
  readonly content: string;
}

/** Summaries of stored trajectories, from which lists of trajectories are read; see summaries.ts. */
export interface TrajectoryOutlineTable {
  readonly model_id: string;
  /** Number of the trajectory. A model numbers its trajectories in storage order. */
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
  /** JSON with all fields of the summary that have no column of their own. */
  readonly content: string;
}

/** Number and total reward of a model's trajectories, by source, split and version. */
export interface TrajectoryCountTable {
  readonly model_id: string;
  readonly source: string;
  readonly split: string;
  /** Number of the version to which the trajectories belong; -1 for trajectories that belong to none. */
  readonly step: number;
  readonly trajectory_count: number;
  readonly reward_sum: number;
}

/** Feedback records. Text fields contain normalized text, which queries compare; see feedback/feedback-rows.ts. */
export interface FeedbackTable {
  readonly project_id: string;
  /** Sequence number, which gives the record's place in storage order. */
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
  /** Payload of the record as JSON. */
  readonly payload: string;
  /**
   * JSON with the original text fields, if any of them differs from its normalized form; null for nearly all records.
   */
  readonly exact: string | null;
  /** Emoji in the payload, by which queries can find the record; null if there is none. */
  readonly emoji: string | null;
  /** 1 if the payload contains numbers that are not in the index `feedback_numbers`, otherwise 0. */
  readonly has_more_numbers: Generated<number>;
  readonly last_revision_sequence: Generated<number>;
  /** Position, in storage order, of the record's current content; null if the content was never replaced. */
  readonly replaced_sequence: number | null;
  /**
   * Id of the call that the record judges, spelled as in references; null if the record judges no call of its project.
   */
  readonly call_id: string | null;
}

/** Payload paths at which some feedback record of the project has a number. */
export interface FeedbackFieldTable {
  readonly id: number;
  readonly project_id: string;
  /** Payload path: a JSON array of its steps. */
  readonly path: string;
}

/** Index of the numbers in feedback records, one row for each number. */
export interface FeedbackNumberTable {
  readonly field_id: number;
  readonly number: number;
  /** Sequence number of the record; `created_ms` is the record's creation time in milliseconds since 1970. */
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
  /** Request id of the completion, spelled as in references. */
  readonly call_id: string;
  readonly step: number;
  readonly ended_at: string;
  readonly byte_count: number;
  readonly is_whole: number;
  /** JSON with all fields of the completion's summary that have no column of their own. */
  readonly outline: string;
  /** Id of the last piece of the completion's messages; null if no pieces contain messages. */
  readonly message_piece: string | null;
  /** Id of the last piece of the prompt's tokens; null if no pieces contain tokens. */
  readonly token_piece: string | null;
  /** JSON of the content that is not in shared pieces; null if the content was not recorded. */
  readonly content: string | null;
  readonly rollout_id: string | null;
}

/**
 * Pieces of prompts. If the prompts of a model's completions begin in the same way, the completions share the pieces of
 * this prefix.
 */
export interface CompletionPieceTable {
  readonly model_id: string;
  readonly id: string;
  readonly parent_id: string | null;
  /** Number of uses: pieces whose `parent_id` is this piece, plus completions whose last piece is this piece. */
  readonly use_count: number;
  readonly content: string;
}

export interface AnnotationQueueTable extends ColumnsOf<typeof queueFields> {
  readonly id: string;
  readonly sequence: number;
  readonly project_id: string;
  /** Name of the queue in lower case, for searches. */
  readonly folded_name: string;
  readonly created_at: string;
  readonly created_by: string;
  readonly updated_at: string;
  readonly deleted_at: string | null;
  /** Number of items in the queue, which equals the position of its last item. */
  readonly last_position: Generated<number>;
  /**
   * Number of changes to the queue so far. Each transaction that changes the queue increments it, which locks the
   * queue's row.
   */
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
  /** Number of annotators who have completed the item. */
  readonly completed_count: Generated<number>;
}

/** State of an annotation item for one annotator. There is no row before the annotator begins the item. */
export interface AnnotationStateTable {
  readonly item_id: string;
  readonly annotator: string;
  readonly queue_id: string;
  readonly state: string;
  /** Time until which the item is held for the annotator; null unless the state is `in_progress`. */
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
  /** Number of the webhook's deliveries that are still to be made. */
  readonly pending_count: Generated<number>;
}

export interface WebhookDeliveryTable {
  readonly id: string;
  readonly webhook_id: string;
  /** Number of the delivery within its webhook. */
  readonly sequence: number;
  readonly type: string;
  /** JSON of the object that the event concerns, such as a job. */
  readonly subject: string;
  readonly state: string;
  readonly created_at: string;
  readonly tried_since: string;
  /**
   * Time of the next attempt. While a server makes an attempt, the time from which another server may take over the
   * delivery. Null once the delivery is finished.
   */
  readonly due_at: string | null;
  readonly owner: string | null;
  readonly ended_at: string | null;
  readonly attempt_count: Generated<number>;
  /** JSON array of the latest attempts at the delivery. */
  readonly attempts: Generated<string>;
}

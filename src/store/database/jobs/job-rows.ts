// Converts a training job to a row and back. Also stores the job's events, each of which is written once, and reads
// them in pages.
import type { Insertable, Kysely, Selectable, Transaction } from "kysely";
import type {
  JobCounts,
  JobDraft,
  JobPins,
  JobProgress,
  JobState,
  ReplayComparison,
  JobTask,
  MadeBy,
  TrainingJob,
  JobEvent,
  JobEventType,
} from "../../../base/domain/job.ts";
import { missingBaseError } from "../../../base/domain/transient-errors/missing-base.ts";
import {
  resolvePreferenceConfig,
  type PreferenceConfigInput,
} from "../../../base/domain/preferences/preference-config.ts";
import {
  resolveSupervisedConfig,
  type SupervisedConfigInput,
} from "../../../base/domain/supervised/supervised-config.ts";
import { resolveTrainingConfig, type TrainingConfigInput } from "../../../base/domain/training-config.ts";
import type { JobTable, Schema } from "../schema.ts";
import type { Page, PageRequest } from "../../../base/domain/page.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import { readPage } from "../paging.ts";

/** A time in the past, as text. It is stored for a time that is not set. */
export const epoch = new Date(0).toISOString();

/** Returns the row of a new job, which is not running and has no content hash yet. */
export function jobRowOf(job: JobDraft, keyId: string | null): Insertable<JobTable> {
  return {
    id: job.id,
    model_id: job.modelId,
    kind: job.task.kind,
    state: job.state,
    config: JSON.stringify(job.task.config),
    config_not_applied: JSON.stringify(job.configNotApplied),
    created_at: job.createdAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    ended_at: job.endedAt?.toISOString() ?? null,
    error_message: job.errorMessage,
    attempt_count: job.attemptCount,
    lost_count: job.lostCount,
    restart_count: job.restartCount,
    waiting_for: job.waitingFor,
    warnings: JSON.stringify(job.warnings),
    progress: job.progress === null ? null : JSON.stringify(job.progress),
    counts: job.counts === null ? null : JSON.stringify(job.counts),
    result_step: job.resultStep,
    cancel_requested: job.cancelRequested ? 1 : 0,
    owner: null,
    not_before: epoch,
    waits_since: epoch,
    sequence: null,
    content_hash: "",
    pins: job.pins === null ? null : JSON.stringify(job.pins),
    replay_of: job.replayOf,
    retry_of: job.retryOf,
    comparison: job.comparison === null ? null : JSON.stringify(job.comparison),
    key_id: keyId,
    made_by: job.madeBy === undefined ? null : JSON.stringify(job.madeBy),
  };
}

/**
 * The row of a job. If a queued job needs a base model that no server has, `missing_base` is the name of that model. It
 * is computed on each read and never stored, because servers start and stop.
 */
type JobRow = Selectable<JobTable> & { readonly missing_base?: string | null };

/** Selects the rows of jobs, for {@link jobOf} to convert. */
export function selectJobs(database: Kysely<Schema>) {
  return database
    .selectFrom("jobs")
    .selectAll()
    .select((job) =>
      job
        .selectFrom("models as model")
        .select("model.base_model")
        .whereRef("model.id", "=", "jobs.model_id")
        .where("jobs.state", "=", "queued")
        .where("model.base_model", "not in", job.selectFrom("server_bases").select("server_bases.base_model"))
        .as("missing_base"),
    );
}

/** Returns the reason why a job waits, given the job's row; null if there is none. */
export function waitOf({ missing_base: missing, waiting_for }: Pick<JobRow, "missing_base" | "waiting_for">) {
  return typeof missing === "string" ? missingBaseError(missing).message : waiting_for;
}

/** Converts a row to a job. `jobRowOf` created the row, and later updates may have changed it. */
export function jobOf(row: JobRow): TrainingJob {
  return {
    id: row.id,
    modelId: row.model_id,
    state: row.state as JobState,
    task: taskOf(row),
    configNotApplied: JSON.parse(row.config_not_applied) as readonly string[],
    createdAt: new Date(row.created_at),
    startedAt: row.started_at === null ? null : new Date(row.started_at),
    endedAt: row.ended_at === null ? null : new Date(row.ended_at),
    errorMessage: row.error_message,
    attemptCount: row.attempt_count,
    lostCount: row.lost_count,
    restartCount: row.restart_count,
    waitingFor: waitOf(row),
    warnings: JSON.parse(row.warnings) as readonly string[],
    progress: row.progress === null ? null : progressOf(row.progress),
    counts: row.counts === null ? null : (JSON.parse(row.counts) as JobCounts),
    resultStep: row.result_step,
    cancelRequested: row.cancel_requested === 1,
    contentHash: row.content_hash,
    pins: row.pins === null ? null : (JSON.parse(row.pins) as JobPins),
    replayOf: row.replay_of,
    retryOf: row.retry_of,
    comparison: row.comparison === null ? null : (JSON.parse(row.comparison) as ReplayComparison),
    dataRemovedAt: row.data_removed_at === null ? null : new Date(row.data_removed_at),
    ...(row.made_by === null ? {} : { madeBy: JSON.parse(row.made_by) as MadeBy }),
  };
}

/** Restores the task of a job. A configuration field that did not exist when the job was submitted gets its default. */
function taskOf({ kind, config }: Pick<Selectable<JobTable>, "kind" | "config">): JobTask {
  const stored: unknown = JSON.parse(config);
  switch (kind) {
    case "sft":
      return { kind, config: resolveSupervisedConfig(stored as SupervisedConfigInput) };
    case "preference":
      return { kind, config: resolvePreferenceConfig(stored as PreferenceConfigInput) };
    default:
      return { kind: "rl", config: resolveTrainingConfig(stored as TrainingConfigInput) };
  }
}

function progressOf(text: string): JobProgress {
  // Safe cast: `updateProgress` wrote this JSON.
  const { endsAt, ...reported } = JSON.parse(text) as JsonProgress;
  return { ...reported, endsAt: endsAt === null ? null : new Date(endsAt) };
}

type JsonProgress = Omit<JobProgress, "endsAt"> & { readonly endsAt: string | null };

/**
 * Sequence number of a job's last event, above that of any gradient step. Sequence numbers are unique within a job, so
 * a job can have only one last event.
 */
export const terminalSequence = 2 ** 31 - 1;

/**
 * Appends an event to a job, within the caller's transaction. Does nothing if the job already has an event with this
 * sequence number.
 */
export async function appendJobEvent(
  transaction: Transaction<Schema>,
  jobId: string,
  sequence: number,
  event: Omit<JobEvent, "id">,
): Promise<void> {
  await transaction
    .insertInto("job_events")
    .values({ job_id: jobId, sequence, type: event.type, data: JSON.stringify(event.data) })
    .onConflict((conflict) => conflict.columns(["job_id", "sequence"]).doNothing())
    .execute();
}

/**
 * Reads a page of a job's events.
 *
 * @throws ServiceError `invalid` if `after` is not an event of the job
 */
export async function listJobEvents(
  database: Kysely<Schema>,
  jobId: string,
  page: PageRequest,
): Promise<Page<JobEvent>> {
  const events = database.selectFrom("job_events").where("job_id", "=", jobId);
  return await readPage(
    {
      rows: events.selectAll(),
      orderColumn: "sequence",
      contentColumns: ["data"],
      orderValueOf: async (id) => {
        const sequence = sequenceOf(jobId, id);
        if (sequence === undefined) return undefined;
        const row = await events.select("sequence").where("sequence", "=", sequence).executeTakeFirst();
        return row?.sequence;
      },
      itemOf: (row) => ({
        id: eventId(jobId, row.sequence),
        // Safe casts: `appendJobEvent` wrote these values.
        type: row.type as JobEventType,
        data: JSON.parse(row.data) as JsonObject,
      }),
    },
    page,
  );
}

function eventId(jobId: string, sequence: number): string {
  return `${jobId}:${sequence}`;
}

/**
 * Returns the sequence number in an event id; undefined unless the id has exactly the form that `eventId` gives it for
 * this job.
 */
function sequenceOf(jobId: string, id: string): number | undefined {
  const sequence = Number(id.slice(jobId.length + 1));
  return Number.isSafeInteger(sequence) && eventId(jobId, sequence) === id ? sequence : undefined;
}

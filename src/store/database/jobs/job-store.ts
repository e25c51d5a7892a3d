// Stores training jobs, their training data and their events. Checks each state change against the domain's transition
// table, within the change's transaction. A server that no longer owns the job therefore gets `conflict` and writes
// nothing.
import type { Kysely, Transaction, Updateable } from "kysely";
import { present } from "../../../base/domain/assert.ts";
import {
  dataRemoved,
  type JobCounts,
  type JobPins,
  type JobProgress,
  type JobState,
  type JobStore,
  jobTransitions,
  type TrainingJob,
} from "../../../base/domain/job.ts";
import { notFound, ServiceError } from "../../../base/domain/service-error.ts";
import type { Connection } from "../dialect.ts";
import { readStoredLines } from "../groups.ts";
import { claimJob } from "./job-claims.ts";
import {
  appendJobEvent,
  listJobEvents,
  terminalSequence,
  epoch,
  jobOf,
  selectJobs,
  waitOf,
} from "./job-rows.ts";
import { createJob, findByIdempotency } from "./job-submission.ts";
import { addTrainingUsage } from "../keys/usage-store.ts";
import { nameContains } from "../models/model-store.ts";
import { greatestStep, insertVersion, lockModel } from "../models/version-store.ts";
import { readPage, sizeOf } from "../paging.ts";
import { holdCandidate } from "../learning/held-versions.ts";
import { addModelBytes } from "../retention/model-bytes.ts";
import type { JobTable, Schema } from "../schema.ts";
import type { Outbox } from "../webhooks/outbox.ts";

/**
 * Creates the job store on a migrated database.
 *
 * @param outbox stores webhook events when jobs end
 */
export function createJobStore(connection: Connection, outbox: Outbox): JobStore {
  const { queries: database, form, isMissingParent } = connection;
  return {
    create: async (job, lines, idempotency, limits = {}) => {
      try {
        return await createJob(connection, job, lines, { idempotency, ...limits });
      } catch (error) {
        if (isMissingParent(error)) throw notFound("model", job.modelId);
        throw error;
      }
    },
    findCreated: (idempotency) => findByIdempotency(database, idempotency),
    find: (id) => findJob(database, id),
    trajectoryLines: async (id, from) => {
      const job = await findJob(database, id);
      if (job === null) return null;
      const source = job.retryOf === null ? job : await findJob(database, job.retryOf);
      const removedAt = source?.dataRemovedAt ?? null;
      if (removedAt !== null) throw dataRemoved(source?.id ?? id, removedAt);
      return readStoredLines(database, "job_groups", job.retryOf ?? id, from);
    },
    list: ({ entity, project = null, modelId, text, kind, state }, page) => {
      let places = selectJobs(database);
      if (modelId !== null) places = places.where("model_id", "=", modelId);
      if (kind !== null) places = places.where("kind", "=", kind);
      if (entity !== null) {
        places = places.where("model_id", "in", (models) => {
          const own = models.selectFrom("models").select("models.id").where("models.entity", "=", entity);
          return project === null ? own : own.where("models.project", "=", project);
        });
      }
      if (text !== undefined) {
        places = places.where("model_id", "in", (models) =>
          models.selectFrom("models").select("models.id").where(nameContains(form, text)),
        );
      }
      const rows = state === null ? places : places.where("state", "=", state);
      const contentColumns = [
        "config",
        "config_not_applied",
        "error_message",
        "counts",
        "pins",
        "warnings",
        "comparison",
      ];
      // A job remains a valid cursor after its state has changed. The cursor is invalid only if the job could not be in
      // the list in any state.
      const orderValueOf = async (id: string) => {
        const row = await places.clearSelect().select("sequence").where("id", "=", id).executeTakeFirst();
        return row?.sequence ?? undefined;
      };
      return readPage({ rows, orderColumn: "sequence", contentColumns, orderValueOf, itemOf: jobOf }, page);
    },
    listEvents: (id, page) => listJobEvents(database, id, page),
    ...attemptQueries(connection),
    ...endings(database, outbox),
  };
}

type AttemptQueries = Pick<
  JobStore,
  | "claim"
  | "findRunning"
  | "countWaiting"
  | "pin"
  | "rescue"
  | "release"
  | "addWarning"
  | "updateProgress"
  | "advance"
  | "appendEvent"
>;

/** Returns those operations of the job store that serve a job's attempts, from claim to end. */
function attemptQueries({ queries: database, form }: Connection): AttemptQueries {
  return {
    claim: (owner, at) => claimJob({ queries: database, form }, { owner, at }),
    findRunning: async (id, owner) => {
      const row = await selectJobs(database)
        .where("id", "=", id)
        .where("state", "=", "running")
        .where("owner", "=", owner)
        .executeTakeFirst();
      return row === undefined ? null : jobOf(row);
    },
    countWaiting: () => countWaiting(database),
    pin: (id, owner, pins) =>
      database.transaction().execute((transaction) => pinJob(transaction, { id, owner, pins })),
    rescue: (options) => database.transaction().execute((transaction) => rescueJobs(transaction, options)),
    release: async (id, owner, { at, notBefore, attempt, waitingFor }) => {
      const result = await database
        .updateTable("jobs")
        .set((row) => ({
          state: "queued",
          owner: waitingFor === null ? null : owner,
          not_before: notBefore.toISOString(),
          waits_since: at.toISOString(),
          waiting_for: waitingFor,
          attempt_count: row("attempt_count", "-", attempt === "returned" ? 1 : 0),
          ...(attempt === "lost" && {
            lost_count: row("lost_count", "+", row(row.val(1), "-", row.ref("has_advanced"))),
          }),
        }))
        .where("id", "=", id)
        .where("state", "=", "running")
        .where("owner", "=", owner)
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    addWarning: (id, warning) =>
      database.transaction().execute(async (transaction) => {
        await lockJob(transaction, id);
        const { warnings } = present(await findJob(transaction, id), "the job just kept");
        if (warnings.includes(warning)) return;
        await transaction
          .updateTable("jobs")
          .set({ warnings: JSON.stringify([...warnings, warning]) })
          .where("id", "=", id)
          .execute();
      }),
    updateProgress: (id, owner, progress, counts) =>
      setRunning(database, { id, owner }, progressColumns(progress, counts)),
    advance: (id, owner, progress, counts) =>
      setRunning(
        database,
        { id, owner },
        {
          ...progressColumns(progress, counts),
          has_advanced: 1,
          waiting_for: null,
          lost_count: 0,
          restart_count: 0,
        },
      ),
    appendEvent: (id, owner, sequence, event) =>
      database.transaction().execute(async (transaction) => {
        const job = await lockJob(transaction, id);
        if (job.state !== "running" || job.owner !== owner) throw notRunning(id, job.state);
        await appendJobEvent(transaction, id, sequence, event);
      }),
  };
}

function progressColumns(progress: JobProgress, counts: JobCounts | null): Updateable<JobTable> {
  return {
    progress: JSON.stringify(progress),
    ...(counts === null ? {} : { counts: JSON.stringify(counts) }),
  };
}

async function setRunning(
  database: Kysely<Schema>,
  { id, owner }: { readonly id: string; readonly owner: string },
  columns: Updateable<JobTable>,
): Promise<void> {
  await database
    .updateTable("jobs")
    .set(columns)
    .where("id", "=", id)
    .where("state", "=", "running")
    .where("owner", "=", owner)
    .execute();
}

async function pinJob(
  transaction: Transaction<Schema>,
  { id, owner, pins }: { readonly id: string; readonly owner: string; readonly pins: JobPins },
): Promise<JobPins> {
  const resultStep = Math.max(pins.resultStep, await nextStepOfJob(transaction, id));
  const row = await transaction
    .updateTable("jobs")
    .set((row) => ({ pins: row.fn.coalesce("pins", row.val(JSON.stringify({ ...pins, resultStep }))) }))
    .where("id", "=", id)
    .where("state", "=", "running")
    .where("owner", "=", owner)
    .returning("pins")
    .executeTakeFirst();
  if (row === undefined) throw await refusedPin(transaction, id);
  // Safe cast: this function wrote the pins.
  return JSON.parse(present(row.pins, "the pins just stored")) as JobPins;
}

/**
 * Returns the number of the model's next version; 0 if there is no such job. Until this transaction ends, no other
 * transaction can use this number.
 */
async function nextStepOfJob(transaction: Transaction<Schema>, id: string): Promise<number> {
  const job = await transaction.selectFrom("jobs").select("model_id").where("id", "=", id).executeTakeFirst();
  if (job === undefined) return 0;
  await lockModel(transaction, job.model_id);
  return (await greatestStep(transaction, job.model_id)) + 1;
}

async function countWaiting(database: Kysely<Schema>): ReturnType<JobStore["countWaiting"]> {
  const rows = await database
    .selectFrom(selectJobs(database).where("state", "=", "queued").as("job"))
    .select(({ fn }) => ["missing_base", "waiting_for", fn.countAll<number>().as("count")])
    .where((job) => job.or([job("missing_base", "is not", null), job("waiting_for", "is not", null)]))
    .groupBy(["missing_base", "waiting_for"])
    .execute();
  const counts = new Map<string, number>();
  for (const { count, ...row } of rows) {
    const waitingFor = present(waitOf(row), "what such a job waits for");
    counts.set(waitingFor, (counts.get(waitingFor) ?? 0) + count);
  }
  return [...counts]
    .map(([waitingFor, count]) => ({ waitingFor, count }))
    .sort((one, other) => other.count - one.count || (one.waitingFor < other.waitingFor ? -1 : 1));
}

/** Returns the three operations that end a job. Each writes the job's state and its last event in one transaction. */
function endings(
  database: Kysely<Schema>,
  outbox: Outbox,
): Pick<JobStore, "succeed" | "end" | "requestCancel"> {
  return {
    succeed: (id, { owner, version, comparison = null, counts, at, data }) =>
      database.transaction().execute(async (transaction) => {
        const job = await lockJob(transaction, id);
        if (job.state !== "running" || job.owner !== owner) throw notRunning(id, job.state);
        if (version !== null) {
          await insertVersion(transaction, version);
          await holdCandidate(transaction, { ...version, jobId: id });
        }
        await transaction
          .updateTable("jobs")
          .set({
            state: "succeeded",
            owner: null,
            ended_at: at.toISOString(),
            waiting_for: null,
            counts: JSON.stringify(counts),
            result_step: version?.step ?? null,
            comparison: comparison === null ? null : JSON.stringify(comparison),
          })
          .where("id", "=", id)
          .execute();
        await addTrainingUsage(transaction, id, { counts, at });
        await appendJobEvent(transaction, id, terminalSequence, { type: "training_ended", data });
        await countEvents(transaction, id);
        await outbox.addJob(transaction, "training_ended", id);
      }),
    end: (id, state, errorMessage, at, { owner, discard } = {}) =>
      database.transaction().execute(async (transaction) => {
        const job = await lockJob(transaction, id);
        const isOthers = owner !== undefined && (job.state !== "running" || job.owner !== owner);
        if (isOthers || !jobTransitions[job.state].includes(state)) throw notRunning(id, job.state);
        await discard?.();
        await endWithFailure(transaction, outbox, id, { state, errorMessage, at });
      }),
    requestCancel: (id, at) =>
      database.transaction().execute(async (transaction) => {
        const job = await lockJobIfAny(transaction, id);
        if (job === null) return null;
        if (job.state === "queued") {
          const errorMessage = "The job was cancelled before it ran.";
          await endWithFailure(transaction, outbox, id, { state: "cancelled", errorMessage, at });
          return "cancelled";
        }
        if (job.state === "running") {
          await transaction.updateTable("jobs").set({ cancel_requested: 1 }).where("id", "=", id).execute();
        }
        return job.state;
      }),
  };
}

async function endWithFailure(
  transaction: Transaction<Schema>,
  outbox: Outbox,
  id: string,
  ending: { readonly state: "failed" | "cancelled"; readonly errorMessage: string; readonly at: Date },
): Promise<void> {
  await transaction
    .updateTable("jobs")
    .set({
      state: ending.state,
      owner: null,
      ended_at: ending.at.toISOString(),
      waiting_for: null,
      error_message: ending.errorMessage,
    })
    .where("id", "=", id)
    .execute();
  await appendJobEvent(transaction, id, terminalSequence, {
    type: "training_failed",
    data: { error_message: ending.errorMessage },
  });
  await countEvents(transaction, id);
  await outbox.addJob(transaction, "training_failed", id);
}

/** Adds the size of an ended job's events to the recorded size of its data. */
async function countEvents(transaction: Transaction<Schema>, id: string): Promise<void> {
  const { bytes } = await transaction
    .selectFrom("job_events")
    .select(({ fn }) => fn.sum<number | null>(sizeOf(["data"])).as("bytes"))
    .where("job_id", "=", id)
    .executeTakeFirstOrThrow();
  const added = bytes ?? 0;
  const job = await transaction
    .updateTable("jobs")
    .set((row) => ({ content_bytes: row("content_bytes", "+", added) }))
    .where("id", "=", id)
    .returning("model_id")
    .executeTakeFirstOrThrow();
  await addModelBytes(transaction, "job_bytes", job.model_id, added);
}

async function findJob(database: Kysely<Schema>, id: string): Promise<TrainingJob | null> {
  const row = await selectJobs(database).where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : jobOf(row);
}

/** The columns of a job that decide whether a state change is allowed. */
interface LockedJob {
  readonly state: JobState;
  readonly owner: string | null;
}

/** Reads a job's state and locks its row until the transaction ends. Returns null if there is no such job. */
async function lockJobIfAny(transaction: Transaction<Schema>, id: string): Promise<LockedJob | null> {
  const row = await transaction
    .updateTable("jobs")
    // Locks the row by updating it, which works on every database, even if the value does not change.
    .set((row) => ({ owner: row.ref("owner") }))
    .where("id", "=", id)
    .returning(["state", "owner"])
    .executeTakeFirst();
  // Safe cast: only this file writes the column.
  return row === undefined ? null : { state: row.state as JobState, owner: row.owner };
}

/**
 * Locks a job like {@link lockJobIfAny}.
 *
 * @throws ServiceError `not_found` if there is no such job
 */
async function lockJob(transaction: Transaction<Schema>, id: string): Promise<LockedJob> {
  const job = await lockJobIfAny(transaction, id);
  if (job === null) throw notFound("training job", id);
  return job;
}

async function refusedPin(database: Kysely<Schema>, id: string): Promise<ServiceError> {
  const job = await findJob(database, id);
  return job === null ? notFound("training job", id) : notRunning(id, job.state);
}

function notRunning(id: string, state: JobState): ServiceError {
  return new ServiceError({
    code: "conflict",
    message: `Training job ${id} is ${state} and does not run for this server.`,
  });
}

/** Implements `rescue` of the job store: queues the jobs of servers without a lease again. */
async function rescueJobs(
  transaction: Transaction<Schema>,
  { at, notBefore, runs }: Parameters<JobStore["rescue"]>[0],
): Promise<readonly string[]> {
  const servers = transaction.selectFrom("servers").select("servers.id");
  await transaction
    .updateTable("jobs")
    .set({ owner: null, not_before: epoch, waits_since: epoch, waiting_for: null })
    .where("state", "=", "queued")
    .where("owner", "not in", servers)
    .execute();
  const rows = await transaction
    .updateTable("jobs")
    .set((row) => ({
      state: "queued",
      owner: null,
      waits_since: at.toISOString(),
      restart_count: row("restart_count", "+", row(row.val(1), "-", row.ref("has_advanced"))),
    }))
    .where("state", "=", "running")
    .where((job) =>
      job.or([
        job("owner", "not in", servers),
        ...(runs === undefined
          ? []
          : [job.and([job("owner", "=", runs.owner), ...runs.ids.map((id) => job("id", "!=", id))])]),
      ]),
    )
    .returning(["id", "restart_count"])
    .execute();
  for (const { id, restart_count: restartCount } of rows)
    await transaction
      .updateTable("jobs")
      .set({ not_before: notBefore(restartCount).toISOString() })
      .where("id", "=", id)
      .execute();
  return rows.map(({ id }) => id);
}

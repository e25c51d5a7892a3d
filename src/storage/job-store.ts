// Training jobs, what they train on, and their events. Every change of state is checked against domain's table of
// transitions inside its transaction, so that whoever is late gets `conflict` and nothing is written.
import type { Kysely, Transaction } from "kysely";
import {
  type IdempotencyKey,
  type JobDraft,
  type JobPins,
  type JobState,
  type JobStore,
  jobTransitions,
  type TrainingJob,
} from "../domain/job.ts";
import { present } from "../domain/assert.ts";
import { notFound, ServiceError } from "../domain/service-error.ts";
import type { TrajectoryGroup } from "../domain/trajectory.ts";
import { writeGroups } from "./groups.ts";
import { ContentHash, jobLines } from "./job-content.ts";
import { appendJobEvent, listJobEvents, terminalSequence } from "./job-events.ts";
import { jobOf, jobRowOf } from "./job-rows.ts";
import { insertVersion } from "./model-store.ts";
import { pageOf, pageWindow } from "./paging.ts";
import type { Schema } from "./schema.ts";

/** The job store on a migrated database. */
export function createJobStore(database: Kysely<Schema>): JobStore {
  return {
    create: (job, groups, idempotency) =>
      database.transaction().execute((transaction) => createJob(transaction, job, groups, idempotency)),
    find: (id) => findJob(database, id),
    trajectoryLines: async (id) => ((await findJob(database, id)) === null ? null : jobLines(database, id)),
    list: async ({ modelIds, state }, page) => {
      const window = await pageWindow(page, async (id) => {
        const row = await database
          .selectFrom("jobs")
          .select("position")
          .where("id", "=", id)
          .executeTakeFirst();
        return row?.position;
      });
      let query = database
        .selectFrom("jobs")
        .selectAll()
        .orderBy("position", window.order)
        .limit(window.rowCountMax);
      if (modelIds !== null) query = query.where("model_id", "in", modelIds);
      if (state !== null) query = query.where("state", "=", state);
      if (window.afterValue !== null) query = query.where("position", window.comparison, window.afterValue);
      return pageOf(modelIds?.length === 0 ? [] : await query.execute(), page, jobOf);
    },
    listEvents: (id, page) => listJobEvents(database, id, page),
    ...attemptQueries(database),
    ...endings(database),
  };
}

type AttemptQueries = Pick<
  JobStore,
  "claim" | "pin" | "heartbeat" | "rescue" | "release" | "updateProgress" | "appendEvent"
>;

/** What happens to a job between the queue and its end. */
function attemptQueries(database: Kysely<Schema>): AttemptQueries {
  return {
    claim: (owner, at, leaseUntil) =>
      database.transaction().execute((transaction) => claimJob(transaction, owner, at, leaseUntil)),
    pin: async (id, owner, pins) => {
      const row = await database
        .updateTable("jobs")
        .set((row) => ({ pins: row.fn.coalesce("pins", row.val(JSON.stringify(pins))) }))
        .where("id", "=", id)
        .where("state", "=", "running")
        .where("owner", "=", owner)
        .returning("pins")
        .executeTakeFirst();
      if (row === undefined) throw notRunning(id, (await requireJob(database, id)).state);
      // The column holds what this method wrote.
      return JSON.parse(present(row.pins, "the pins just stored")) as JobPins;
    },
    heartbeat: async (id, owner, leaseUntil) => {
      const result = await database
        .updateTable("jobs")
        .set({ lease_until: leaseUntil.toISOString() })
        .where("id", "=", id)
        .where("state", "=", "running")
        .where("owner", "=", owner)
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    rescue: async (filter) => {
      const query = database
        .updateTable("jobs")
        .set({ state: "queued", owner: null, lease_until: null })
        .where("state", "=", "running")
        .returning("id");
      const rows = await (
        "owner" in filter
          ? query.where("owner", "=", filter.owner)
          : query.where("lease_until", "<", filter.leaseBefore.toISOString())
      ).execute();
      return rows.map((row) => row.id);
    },
    release: async (id, owner, { notBefore, refundAttempt }) => {
      const result = await database
        .updateTable("jobs")
        .set((row) => ({
          state: "queued",
          owner: null,
          lease_until: null,
          not_before: notBefore.toISOString(),
          attempt_count: row("attempt_count", "-", refundAttempt ? 1 : 0),
        }))
        .where("id", "=", id)
        .where("state", "=", "running")
        .where("owner", "=", owner)
        .executeTakeFirst();
      return result.numUpdatedRows > 0n;
    },
    updateProgress: async (id, progress, counts) => {
      await database
        .updateTable("jobs")
        .set({ progress: JSON.stringify(progress), counts: JSON.stringify(counts) })
        .where("id", "=", id)
        .where("state", "=", "running")
        .execute();
    },
    appendEvent: (id, sequence, event) =>
      database.transaction().execute(async (transaction) => {
        const { state } = await requireJob(transaction, id);
        if (state !== "running") throw notRunning(id, state);
        await appendJobEvent(transaction, id, sequence, event);
      }),
  };
}

/** The three ways a job ends; each writes the state and the last event together. */
function endings(database: Kysely<Schema>): Pick<JobStore, "succeed" | "end" | "requestCancel"> {
  return {
    succeed: (id, { owner, version, counts, at, data }) =>
      database.transaction().execute(async (transaction) => {
        const job = await requireJob(transaction, id);
        if (job.state !== "running" || job.owner !== owner) throw notRunning(id, job.state);
        await insertVersion(transaction, version);
        await transaction
          .updateTable("jobs")
          .set({
            state: "succeeded",
            owner: null,
            lease_until: null,
            ended_at: at.toISOString(),
            counts: JSON.stringify(counts),
            result_step: version.step,
          })
          .where("id", "=", id)
          .execute();
        await appendJobEvent(transaction, id, terminalSequence, { type: "training_ended", data });
      }),
    end: (id, state, errorMessage, at, { owner } = {}) =>
      database.transaction().execute(async (transaction) => {
        const job = await requireJob(transaction, id);
        const isOthers = owner !== undefined && (job.state !== "running" || job.owner !== owner);
        if (isOthers || !jobTransitions[job.state].includes(state)) throw notRunning(id, job.state);
        await endWithFailure(transaction, id, { state, errorMessage, at });
      }),
    requestCancel: (id, at) =>
      database.transaction().execute(async (transaction) => {
        const job = await findJob(transaction, id);
        if (job === null) return null;
        if (job.state === "queued") {
          const errorMessage = "The job was cancelled before it ran.";
          await endWithFailure(transaction, id, { state: "cancelled", errorMessage, at });
          return "cancelled";
        }
        if (job.state === "running") {
          await transaction.updateTable("jobs").set({ cancel_requested: 1 }).where("id", "=", id).execute();
        }
        return job.state;
      }),
  };
}

async function createJob(
  transaction: Transaction<Schema>,
  job: JobDraft,
  groups: readonly TrajectoryGroup[],
  idempotency: IdempotencyKey | null,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  if (idempotency !== null) {
    const earlierId = await findByIdempotency(transaction, idempotency);
    if (earlierId !== null) return { id: earlierId, isNew: false };
  }
  const model = await transaction
    .selectFrom("models")
    .select("id")
    .where("id", "=", job.modelId)
    .executeTakeFirst();
  if (model === undefined) throw notFound("model", job.modelId);
  await transaction.insertInto("jobs").values(jobRowOf(job)).execute();
  const hash = new ContentHash(job.config);
  await writeGroups(groups, async (groupIndex, content) => {
    hash.add(content);
    await transaction
      .insertInto("job_groups")
      .values({ job_id: job.id, group_index: groupIndex, content })
      .execute();
  });
  await transaction
    .updateTable("jobs")
    .set({ content_hash: hash.digest() })
    .where("id", "=", job.id)
    .execute();
  if (idempotency !== null) {
    await transaction
      .insertInto("job_idempotency")
      .values({
        key_id: idempotency.keyId,
        idempotency_key: idempotency.key,
        body_hash: idempotency.bodyHash,
        job_id: job.id,
      })
      .execute();
  }
  return { id: job.id, isNew: true };
}

async function findByIdempotency(
  transaction: Transaction<Schema>,
  { keyId, key, bodyHash }: IdempotencyKey,
): Promise<string | null> {
  const row = await transaction
    .selectFrom("job_idempotency")
    .select(["job_id", "body_hash"])
    .where("key_id", "=", keyId)
    .where("idempotency_key", "=", key)
    .executeTakeFirst();
  if (row === undefined) return null;
  if (row.body_hash === bodyHash) return row.job_id;
  throw new ServiceError({
    code: "conflict",
    message: `The idempotency key ${JSON.stringify(key)} was used with another body. Use a new key for a new job.`,
  });
}

async function claimJob(
  transaction: Transaction<Schema>,
  owner: string,
  at: Date,
  leaseUntil: Date,
): Promise<TrainingJob | null> {
  // A queued job waits for every earlier one of its model, also for one that may not be tried again yet.
  const candidate = await transaction
    .selectFrom("jobs as job")
    .select("job.id")
    .where("job.state", "=", "queued")
    .where("job.not_before", "<=", at.toISOString())
    .where((job) =>
      job.not(
        job.exists(
          job
            .selectFrom("jobs as other")
            .select("other.id")
            .whereRef("other.model_id", "=", "job.model_id")
            .where((other) =>
              other.or([
                other("other.state", "=", "running"),
                other.and([
                  other("other.state", "=", "queued"),
                  other("other.position", "<", other.ref("job.position")),
                ]),
              ]),
            ),
        ),
      ),
    )
    .orderBy("job.position")
    .limit(1)
    .executeTakeFirst();
  if (candidate === undefined) return null;
  const row = await transaction
    .updateTable("jobs")
    .set((row) => ({
      state: "running",
      owner,
      lease_until: leaseUntil.toISOString(),
      started_at: row.fn.coalesce("started_at", row.val(at.toISOString())),
      attempt_count: row("attempt_count", "+", 1),
    }))
    .where("id", "=", candidate.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return jobOf(row);
}

async function endWithFailure(
  transaction: Transaction<Schema>,
  id: string,
  ending: { readonly state: "failed" | "cancelled"; readonly errorMessage: string; readonly at: Date },
): Promise<void> {
  await transaction
    .updateTable("jobs")
    .set({
      state: ending.state,
      owner: null,
      lease_until: null,
      ended_at: ending.at.toISOString(),
      error_message: ending.errorMessage,
    })
    .where("id", "=", id)
    .execute();
  await appendJobEvent(transaction, id, terminalSequence, {
    type: "training_failed",
    data: { error_message: ending.errorMessage },
  });
}

async function findJob(database: Kysely<Schema>, id: string): Promise<TrainingJob | null> {
  const row = await database.selectFrom("jobs").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : jobOf(row);
}

async function requireJob(
  database: Kysely<Schema>,
  id: string,
): Promise<{ readonly state: JobState; readonly owner: string | null }> {
  const row = await database
    .selectFrom("jobs")
    .select(["state", "owner"])
    .where("id", "=", id)
    .executeTakeFirst();
  if (row === undefined) throw notFound("training job", id);
  // The column holds what this file wrote.
  return { state: row.state as JobState, owner: row.owner };
}

function notRunning(id: string, state: JobState): ServiceError {
  return new ServiceError({
    code: "conflict",
    message: `Training job ${id} is ${state}, and not running for whoever asked.`,
  });
}

// Stores a submitted job: its idempotency key, its training data and its place in the queue.
import { createHash, type Hash } from "node:crypto";
import type { Kysely, Transaction } from "kysely";
import { present } from "../../../base/domain/assert.ts";
import { unfolded } from "../../../base/domain/text/folded-lines.ts";
import {
  dataRemoved,
  type IdempotencyKey,
  type JobCreation,
  type JobDraft,
} from "../../../base/domain/job.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";
import { roomInShare } from "../../../base/domain/sharing/tenant-shares.ts";
import type { Connection } from "../dialect.ts";
import { type GroupsToStore, stageGroups, type StagedGroups } from "../groups.ts";
import { refuseRetryOfCycle, startCycle } from "../learning/cycle-store.ts";
import { lockModel } from "../models/version-store.ts";
import { storeOutlines } from "../summaries.ts";
import { addModelBytes } from "../retention/model-bytes.ts";
import { copyOrigin, storeOrigin } from "../rewards/source-store.ts";
import { copyRollouts, takeRollouts } from "../rollouts/rollout-jobs.ts";
import { jobRowOf } from "./job-rows.ts";
import type { Schema } from "../schema.ts";
import { nextSequence } from "../paging.ts";

type Creation = JobCreation & { readonly idempotency: IdempotencyKey | null };

/**
 * Stores a job, unless a job with its idempotency key exists.
 *
 * @throws ServiceError `conflict` if the key was used with another body, or another job trains on some of the same
 * feedback; `overloaded` if the number of queued jobs has reached the limit of the server, the entity or the key
 */
export async function createJob(
  connection: Pick<Connection, "queries" | "writeEarly">,
  job: JobDraft,
  lines: Iterable<string>,
  options: Creation,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const { queries } = connection;
  const content = new JobContent(job);
  const isWanted = async (): Promise<boolean> => (await findPlace(queries, job, options)).earlierId === null;
  const groups =
    job.retryOf === null ? await stageGroups(connection, content.groupsOf(lines), isWanted) : null;
  try {
    const created = await queries
      .transaction()
      .execute((transaction) => insertJob(transaction, { job, content, groups }, options));
    if (!created.isNew) await groups?.discard();
    return created;
  } catch (error) {
    await groups?.discard();
    throw error;
  }
}

/** The training data of a job, which is hashed and counted while it is stored. */
class JobContent {
  readonly #jobId: string;
  readonly #hash: Hash;
  bytes = 0;

  constructor({ id, task }: JobDraft) {
    this.#jobId = id;
    this.#hash = createHash("sha256").update(`${JSON.stringify(task.config)}\n`);
  }

  groupsOf(lines: Iterable<string>): GroupsToStore {
    const onLine = (line: string): void => {
      this.#hash.update(unfolded(line));
      this.bytes += Buffer.byteLength(line);
    };
    return { table: "job_groups", ownerId: this.#jobId, lines, onLine };
  }

  hash(): string {
    return this.#hash.digest("hex");
  }
}

/**
 * Checks whether the job exists already, and whether the queue has room for it.
 *
 * @returns the existing job with this idempotency key, or the API key whose limits apply to the new job
 * @throws ServiceError as {@link createJob}
 */
async function findPlace(
  database: Kysely<Schema>,
  job: JobDraft,
  options: Creation,
): Promise<{ readonly earlierId: string } | { readonly earlierId: null; readonly keyId: string | null }> {
  const { idempotency } = options;
  const earlierId = idempotency === null ? null : await findByIdempotency(database, idempotency);
  if (earlierId !== null) return { earlierId };
  const keyId = options.keyId ?? (await keyOfEarlier(database, job.retryOf ?? job.replayOf));
  await refuseFullQueue(database, { ...options, modelId: job.modelId, keyId });
  return { earlierId: null, keyId };
}

/**
 * Inserts a job. Assigns the job's sequence number only at the end of the transaction, because from then on, other
 * submissions wait until the transaction ends.
 */
async function insertJob(
  transaction: Transaction<Schema>,
  {
    job,
    content,
    groups,
  }: { readonly job: JobDraft; readonly content: JobContent; readonly groups: StagedGroups | null },
  options: Creation,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const { idempotency } = options;
  const found = await findPlace(transaction, job, options);
  if (found.earlierId !== null) return { id: found.earlierId, isNew: false };
  const { keyId } = found;
  await transaction.insertInto("jobs").values(jobRowOf(job, keyId)).execute();
  if (idempotency !== null && !(await takeIdempotency(transaction, idempotency, job.id))) {
    // The key is taken: a concurrent transaction stored a job with this idempotency key after the lookup.
    await transaction.deleteFrom("jobs").where("id", "=", job.id).execute();
    const id = present(await findByIdempotency(transaction, idempotency), "the job that took the key");
    return { id, isNew: false };
  }
  await requireData(transaction, job);
  // A retry has no groups of its own; it trains on the groups of the retried job.
  await groups?.finish(transaction);
  const contentHash = job.retryOf === null ? content.hash() : await hashOf(transaction, job.retryOf);
  const { bytes } = content;
  await addModelBytes(transaction, "job_bytes", job.modelId, bytes);
  const { id: sourceId, modelId, createdAt: recordedAt } = job;
  if (options.outlines !== undefined) {
    const place = { modelId, source: "job", sourceId, split: "train", step: null, recordedAt } as const;
    await storeOutlines(transaction, { ...place, outlines: options.outlines });
  }
  if (options.feedback !== undefined) await storeOrigin(transaction, job, options.feedback);
  if (options.rollouts !== undefined) await takeRollouts(transaction, job, options.rollouts);
  if (options.learning !== undefined) await startCycle(transaction, options.learning);
  if (job.retryOf !== null) {
    await refuseRetryOfCycle(transaction, job.retryOf);
    await copyOrigin(transaction, job, job.retryOf);
    await copyRollouts(transaction, job, job.retryOf);
  }
  await transaction
    .updateTable("jobs")
    .set({
      content_hash: contentHash,
      content_bytes: bytes,
      sequence: await nextSequence(transaction, "jobs"),
    })
    .where("id", "=", job.id)
    .execute();
  return { id: job.id, isNew: true };
}

/**
 * Returns the id of the API key with which a job was submitted; null if it was submitted without a key, or if there is
 * no such job.
 */
async function keyOfEarlier(database: Kysely<Schema>, id: string | null): Promise<string | null> {
  if (id === null) return null;
  const row = await database.selectFrom("jobs").select("key_id").where("id", "=", id).executeTakeFirst();
  return row?.key_id ?? null;
}

/**
 * Keeps the training data of a retried or repeated job until the new job has ended. Locks the model's row, as a removal
 * of the data does, so that no concurrent removal interferes.
 *
 * @throws ServiceError `conflict` if the data was removed already
 */
async function requireData(
  transaction: Transaction<Schema>,
  { modelId, retryOf, replayOf }: JobDraft,
): Promise<void> {
  const sourceId = retryOf ?? replayOf;
  if (sourceId === null) return;
  await lockModel(transaction, modelId);
  const source = await transaction
    .selectFrom("jobs")
    .select("data_removed_at")
    .where("id", "=", sourceId)
    .executeTakeFirst();
  const removedAt = source?.data_removed_at ?? null;
  if (removedAt !== null) throw dataRemoved(sourceId, new Date(removedAt));
}

async function hashOf(transaction: Transaction<Schema>, id: string): Promise<string> {
  const job = await transaction
    .selectFrom("jobs")
    .select("content_hash")
    .where("id", "=", id)
    .executeTakeFirst();
  return present(job, "the job that is tried again").content_hash;
}

async function refuseFullQueue(
  database: Kysely<Schema>,
  {
    modelId,
    keyId,
    queuedMax,
    queuedPerEntityMax,
  }: Pick<JobCreation, "queuedMax" | "queuedPerEntityMax"> & {
    readonly modelId: string;
    readonly keyId: string | null;
  },
): Promise<void> {
  const queued = database
    .selectFrom("jobs")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("state", "=", "queued");
  const owner = await database
    .selectFrom("models")
    .leftJoin("entity_limits", "entity_limits.entity", "models.entity")
    .select(["models.entity", "queued_jobs"])
    .where("models.id", "=", modelId)
    .executeTakeFirst();
  const own =
    owner === undefined
      ? 0
      : await countOf(
          queued.where("model_id", "in", (models) =>
            models.selectFrom("models").select("models.id").where("models.entity", "=", owner.entity),
          ),
        );
  if (queuedMax !== undefined) {
    const used = await countOf(queued);
    if (used >= queuedMax)
      throw fullQueue(`${used} training jobs wait already, and the queue takes ${queuedMax}`);
    if (roomInShare({ max: queuedMax, used, own }) < 1)
      throw fullQueue(
        `${own} training jobs of this entity wait already, its share of the ${queuedMax} that the queue takes`,
      );
  }
  const ofKey = keyId === null ? null : await limitOfKey(database, keyId);
  if (ofKey !== null) {
    const count = await countOf(queued.where("key_id", "=", keyId));
    if (count >= ofKey)
      throw fullQueue(`${count} training jobs of this key wait already, and it may have ${ofKey}`);
  }
  const ofEntity = owner?.queued_jobs ?? queuedPerEntityMax;
  if (ofEntity !== undefined && own >= ofEntity)
    throw fullQueue(`${own} training jobs of this entity wait already, and it may have ${ofEntity}`);
}

async function countOf(query: {
  executeTakeFirstOrThrow(): Promise<{ readonly count: number }>;
}): Promise<number> {
  return (await query.executeTakeFirstOrThrow()).count;
}

async function limitOfKey(database: Kysely<Schema>, keyId: string): Promise<number | null> {
  const row = await database
    .selectFrom("access_keys")
    .select("queued_jobs")
    .where("id", "=", keyId)
    .executeTakeFirst();
  return row?.queued_jobs ?? null;
}

function fullQueue(reason: string): ServiceError {
  const message = `${reason}. Send the job again when some have ended.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 60 });
}

/**
 * Stores the idempotency key of a job. Returns false if the key is in use. If a concurrent transaction is storing the
 * same key, waits for it.
 */
async function takeIdempotency(
  transaction: Transaction<Schema>,
  { keyId, key, bodyHash }: IdempotencyKey,
  jobId: string,
): Promise<boolean> {
  const result = await transaction
    .insertInto("job_idempotency")
    .values({ key_id: keyId, idempotency_key: key, body_hash: bodyHash, job_id: jobId })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

/**
 * Finds the job with this idempotency key; null if there is none.
 *
 * @throws ServiceError `conflict` if the key was used with another body
 */
export async function findByIdempotency(
  queries: Kysely<Schema>,
  { keyId, key, bodyHash }: IdempotencyKey,
): Promise<string | null> {
  const row = await queries
    .selectFrom("job_idempotency")
    .select(["job_id", "body_hash"])
    .where("key_id", "=", keyId)
    .where("idempotency_key", "=", key)
    .executeTakeFirst();
  if (row === undefined) return null;
  if (row.body_hash === bodyHash) return row.job_id;
  throw new ServiceError({
    code: "conflict",
    message: `The idempotency key ${quoted(key)} was used with another body. Use a new key for a new job.`,
  });
}

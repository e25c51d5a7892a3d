// Stores feedback records and their revision history. The caller must have validated the contents.
import type { Kysely, Selectable, Transaction } from "kysely";
import { present } from "../../../base/domain/assert.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { parseProjectId } from "../../../base/domain/project.ts";
import type { FeedbackRecord, FeedbackRevision } from "../../../base/domain/feedback.ts";
import { recordsIn } from "../../../base/domain/feedback-query/feedback-batch.ts";
import { storedForm } from "../../../base/domain/feedback-query/stored-form.ts";
import type { FeedbackStore } from "../../../base/domain/feedback-query/feedback-store.ts";
import { type Fault, quoted, ServiceError } from "../../../base/domain/service-error.ts";
import type { Connection } from "../dialect.ts";
import { GroupCommit, type Outcome } from "../group-commit.ts";
import { readPage, sizeOf, nextSequence, nextSequences } from "../paging.ts";
import { addProjectBytes } from "../retention/project-bytes.ts";
import { pageBytesMax } from "../../../base/domain/page.ts";
import type { FeedbackRevisionTable, Schema } from "../schema.ts";
import {
  changedColumns,
  insertRecords,
  type NumberedRecord,
  recordColumns,
  recordOf,
} from "./feedback-rows.ts";
import { insertBatch } from "./insert-batch.ts";
import { FairTurns } from "../searches/fair-turns.ts";
import { FeedbackNumbers, type Fields } from "./numeric-index.ts";
import { answerQuery } from "./answer-query.ts";
import { countTypes } from "./count-types.ts";
import { recordsAt } from "./records-at.ts";
import { scanPage } from "./scan.ts";
import { fewRecords } from "./search-sources.ts";
import { eventRecord, purgedRecord, type Outbox } from "../webhooks/outbox.ts";

/**
 * Maximum number of records, and maximum number of their payload characters, in one transaction. Concurrent requests
 * that each create a single record share a transaction.
 */
const groupRecordsMax = 256;
const groupLengthMax = 1 << 20;

/** Maximum number of records that one SQL statement looks up or removes. */
const idsMax = 500;

/** Maximum number of batches that wait to be written, and their maximum waiting time in milliseconds. */
const waitingBatchesMax = 512;
const batchWaitMs = 60_000;

/**
 * Creates the feedback store on a migrated database.
 *
 * @param outbox stores webhook events
 * @param few maximum number of matching records for which a search may read each record
 */
export function createFeedbackStore(connection: Connection, outbox: Outbox, few = fewRecords): FeedbackStore {
  const { queries } = connection;
  const numbers = new FeedbackNumbers(connection.form);
  const created = async <Answer>(
    records: readonly FeedbackRecord[],
    answer: (answers: readonly (FeedbackRecord | null)[]) => Answer,
  ): Promise<Answer> => {
    const { result, fields } = await queries.transaction().execute(async (transaction) => {
      const stored = await insertNew(transaction, records);
      const answers: (FeedbackRecord | null)[] = [];
      for (const record of records)
        answers.push(await findStoredAnswer(transaction, record, storedOf(stored.records, record)));
      // If `answer` throws, its error rolls the transaction back.
      const given = answer(answers);
      const added = await numbers.add(transaction, stored.inserted);
      const bytes = payloadBytesOf(stored.inserted);
      await outbox.addFeedback(transaction, {
        type: "feedback.created",
        projectIds: [...bytes.keys()],
        records: () => stored.inserted.map(({ record }) => eventRecord(record)),
      });
      await countAdded(transaction, bytes);
      return { result: given, fields: added };
    });
    numbers.learn(fields);
    return result;
  };
  const singles = new GroupCommit<FeedbackRecord, FeedbackRecord>({
    carryOut: (records) => created(records, (answers) => outcomes(records, answers)),
    itemsMax: groupRecordsMax,
    lengthMax: groupLengthMax,
    lengthOf: ({ payload }) => JSON.stringify(payload).length,
  });
  // Writes only one batch at a time, and lets entities take turns. A single record therefore waits for at most one
  // batch.
  const batches = new FairTurns(1, waitingBatchesMax);
  const inTurn = async <Answer>(projectId: string, write: () => Promise<Answer>): Promise<Answer> => {
    const entity = parseProjectId(projectId)?.entity ?? projectId;
    const endTurn = await batches.take(entity, systemClock.monotonicMs() + batchWaitMs);
    if (typeof endTurn === "string") throw tooManyBatches();
    try {
      return await write();
    } finally {
      endTurn();
    }
  };
  return {
    create: async (records) => {
      if (records.length === 0) return [];
      if (records.length === 1) return [await singles.add(records[0])];
      return inTurn(records[0].projectId, () => created(records, (answers) => allOrNone(records, answers)));
    },
    packForm: connection.form.packForm,
    createBatch: async (batch, author) => {
      const write = (): Promise<Fields> =>
        queries.transaction().execute(async (transaction) => {
          // This statement makes other transactions that write feedback wait until this transaction ends.
          const last = await nextSequences(transaction, "feedback", batch.count);
          const placed = { ...author, first: last - batch.count + 1 };
          await insertBatch(transaction, connection.form, batch, placed);
          const fields = await numbers.addBatch(transaction, batch.numbers, placed);
          await outbox.addFeedback(transaction, {
            type: "feedback.created",
            projectIds: batch.projects.map(({ projectId }) => projectId),
            records: () =>
              [...recordsIn(batch)].map(({ id, content, contentHash }) =>
                eventRecord({ ...content, ...author, id, contentHash }),
              ),
          });
          const bytes = batch.projects.map(
            ({ projectId, payloadBytes }) => [projectId, payloadBytes] as const,
          );
          await countAdded(transaction, new Map(bytes));
          return fields;
        });
      try {
        numbers.learn(await inTurn(batch.projects[0]?.projectId ?? "", write));
        return true;
      } catch (error) {
        if (connection.isKeyTaken(error)) return false;
        throw error;
      }
    },
    find: async (projectId, id) => (await findByIds(queries, projectId, [id]))[0]?.record ?? null,
    findMany: async (projectId, ids, { bytesMax = pageBytesMax } = {}) => {
      if (ids.length === 0) return [];
      const rows = await queries
        .selectFrom("feedback")
        .select("sequence")
        .where("project_id", "=", projectId)
        .where("id", "in", ids)
        .orderBy("sequence")
        .execute();
      const sequences = rows.map(({ sequence }) => sequence);
      return (await recordsAt(queries, projectId, sequences, bytesMax)).items;
    },
    replace: async (projectId, id, content, at) => {
      const replaced = await queries.transaction().execute(async (transaction) => {
        const earlier = await putInHistory(transaction, projectId, id, at);
        if (earlier === null) return null;
        const record = { ...content, projectId, id, createdAt: earlier.record.createdAt };
        const replaced_sequence = await nextSequence(transaction, "feedback");
        const changed = changedColumns(record);
        await transaction
          .updateTable("feedback")
          .set({ ...changed, replaced_sequence })
          .where("project_id", "=", projectId)
          .where("id", "=", id)
          .execute();
        await numbers.remove(transaction, earlier);
        const fields = await numbers.add(transaction, [{ record, sequence: earlier.sequence }]);
        await outbox.addFeedback(transaction, {
          type: "feedback.replaced",
          projectIds: [projectId],
          records: () => [eventRecord(record)],
        });
        const bytes = Buffer.byteLength(String(changed.payload)) - earlier.payloadBytes;
        await addProjectBytes(transaction, "record_bytes", projectId, bytes);
        await addProjectBytes(transaction, "revision_bytes", projectId, earlier.revisionBytes);
        return { record, fields };
      });
      if (replaced === null) return null;
      numbers.learn(replaced.fields);
      return replaced.record;
    },
    query: (query, turn) => answerQuery({ connection, numbers, few }, query, turn),
    scan: (scan, turn) => scanPage(connection, scan, turn),
    placeOf: async (projectId, id) => {
      const row = await queries
        .selectFrom("feedback")
        .select("sequence")
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .executeTakeFirst();
      return row?.sequence ?? null;
    },
    countTypes: (question, turn) => countTypes({ connection, numbers, few }, question, turn),
    delete: (projectId, ids) =>
      queries.transaction().execute(async (transaction) => {
        const purged: FeedbackRecord[] = [];
        let [recordBytes, revisionBytes] = [0, 0];
        for (let start = 0; start < ids.length; start += idsMax) {
          const chunk = ids.slice(start, start + idsMax);
          const removed = await removeRecords(transaction, numbers, projectId, chunk);
          purged.push(...removed.records);
          recordBytes += removed.recordBytes;
          revisionBytes += removed.revisionBytes;
        }
        await outbox.addFeedback(transaction, {
          type: "feedback.purged",
          projectIds: [projectId],
          records: () => purged.map(purgedRecord),
        });
        await addProjectBytes(transaction, "record_bytes", projectId, -recordBytes);
        await addProjectBytes(transaction, "revision_bytes", projectId, -revisionBytes);
      }),
    history: (projectId, id, page) => {
      const rows = queries
        .selectFrom("feedback_revisions")
        .selectAll()
        .where("project_id", "=", projectId)
        .where("id", "=", id);
      const orderValueOf = async (revisionId: string) => {
        const row = await rows.where("sequence", "=", sequenceOf(revisionId)).executeTakeFirst();
        return row?.sequence;
      };
      return readPage(
        { rows, orderColumn: "sequence", contentColumns: ["record"], orderValueOf, itemOf: revisionOf },
        page,
      );
    },
  };
}

/**
 * Returns the stored records if there is one for every given record.
 *
 * @throws ServiceError `conflict` with a fault for each record that has none
 */
function allOrNone(
  records: readonly FeedbackRecord[],
  answers: readonly (FeedbackRecord | null)[],
): readonly FeedbackRecord[] {
  const stored = answers.filter((answer) => answer !== null);
  if (stored.length === answers.length) return stored;
  const faults = answers.flatMap((answer, index) =>
    answer === null ? [idTaken(index, records[index].id)] : [],
  );
  const message = `${faults.length} of ${records.length} records have the id of a record with other content. Nothing was stored.`;
  throw new ServiceError({ code: "conflict", message, faults });
}

/** Returns the outcome for each record: the stored record, or an error. */
function outcomes(
  records: readonly FeedbackRecord[],
  answers: readonly (FeedbackRecord | null)[],
): readonly Outcome<FeedbackRecord>[] {
  return answers.map((answer, index) => {
    if (answer !== null) return { result: answer };
    const fault = idTaken(0, records[index].id);
    return { error: new ServiceError({ code: "conflict", message: fault.message, faults: [fault] }) };
  });
}

/**
 * If a record is a retry of an earlier request, returns the stored record with the same id; otherwise null. The record
 * is a retry if its content equals the stored record's current content, or the content with which the stored record was
 * created.
 */
async function findStoredAnswer(
  transaction: Transaction<Schema>,
  { projectId, id, contentHash }: FeedbackRecord,
  stored: FeedbackRecord,
): Promise<FeedbackRecord | null> {
  if (stored.contentHash === contentHash) return stored;
  const row = await transaction
    .selectFrom("feedback_revisions")
    .select("record")
    .where("project_id", "=", projectId)
    .where("id", "=", id)
    .orderBy("sequence")
    .limit(1)
    .executeTakeFirst();
  const first = row === undefined ? null : revisedRecord(row.record);
  return first?.contentHash === contentHash ? first : null;
}

function storedOf(stored: ReadonlyMap<string, FeedbackRecord>, record: FeedbackRecord): FeedbackRecord {
  return present(stored.get(keyOf(record)), "the stored record");
}

interface Insertion {
  /** Map from {@link keyOf} to the stored record, for each requested id: the inserted record, or an older one. */
  readonly records: ReadonlyMap<string, FeedbackRecord>;
  readonly inserted: readonly NumberedRecord[];
}

/**
 * Inserts those records, in order, whose ids do not exist yet. If an id occurs twice, inserts only its first record.
 */
async function insertNew(
  transaction: Transaction<Schema>,
  records: readonly FeedbackRecord[],
): Promise<Insertion> {
  const firstByKey = new Map<string, FeedbackRecord>();
  for (const record of records) {
    const key = keyOf(record);
    if (!firstByKey.has(key)) firstByKey.set(key, record);
  }
  // This statement makes other transactions that write feedback wait. So if records with these ids exist, they are
  // committed, and the next query sees them.
  const last = await nextSequences(transaction, "feedback", firstByKey.size);
  const first = last - firstByKey.size + 1;
  const numbered = [...firstByKey.values()].map((record, index) => ({ record, sequence: first + index }));
  const insertedCount = await insertRecords(transaction, numbered);
  if (insertedCount === numbered.length) return { records: firstByKey, inserted: numbered };
  const taken = new Map<string, FeedbackRecord>();
  for (const { record, sequence } of await findAll(
    transaction,
    numbered.map((each) => each.record),
  ))
    if (sequence < first) taken.set(keyOf(record), record);
  return {
    records: new Map([...firstByKey, ...taken]),
    inserted: numbered.filter(({ record }) => !taken.has(keyOf(record))),
  };
}

/** Finds the stored records that have the same ids as the given records. */
async function findAll(
  database: Kysely<Schema>,
  records: readonly FeedbackRecord[],
): Promise<readonly NumberedRecord[]> {
  const found: NumberedRecord[] = [];
  for (const projectId of new Set(records.map((record) => record.projectId))) {
    const ids = records.filter((record) => record.projectId === projectId).map(({ id }) => id);
    for (let start = 0; start < ids.length; start += idsMax)
      found.push(...(await findByIds(database, projectId, ids.slice(start, start + idsMax))));
  }
  return found;
}

/** Finds records by their ids. The ids must fit into one SQL statement. */
async function findByIds(
  database: Kysely<Schema>,
  projectId: string,
  ids: readonly string[],
): Promise<readonly NumberedRecord[]> {
  const rows = await database
    .selectFrom("feedback")
    .select(recordColumns)
    .where("project_id", "=", projectId)
    .where("id", "in", ids)
    .execute();
  return rows.map((row) => ({ record: recordOf(row), sequence: row.sequence }));
}

/** Returns the total stored size of the records' payloads for each project. */
function payloadBytesOf(records: readonly NumberedRecord[]): ReadonlyMap<string, number> {
  const bytes = new Map<string, number>();
  for (const { record } of records) {
    const payloadBytes = Buffer.byteLength(storedForm(record).payload);
    bytes.set(record.projectId, (bytes.get(record.projectId) ?? 0) + payloadBytes);
  }
  return bytes;
}

/**
 * Adds the payload sizes of newly stored records to the totals of their projects. This makes other transactions that
 * write the same totals wait.
 */
async function countAdded(
  transaction: Transaction<Schema>,
  bytes: ReadonlyMap<string, number>,
): Promise<void> {
  // Updates the projects in a fixed order, to avoid deadlocks.
  for (const projectId of [...bytes.keys()].toSorted())
    await addProjectBytes(transaction, "record_bytes", projectId, bytes.get(projectId) ?? 0);
}

/** Records that were removed, and the numbers of payload bytes and history bytes that this freed. */
interface RemovedRecords {
  readonly records: readonly FeedbackRecord[];
  readonly recordBytes: number;
  readonly revisionBytes: number;
}

/** A record before it is replaced, with the sizes of its payload and of its new history entry. */
interface ReplacedRecord extends NumberedRecord {
  readonly payloadBytes: number;
  readonly revisionBytes: number;
}

async function removeRecords(
  transaction: Transaction<Schema>,
  numbers: FeedbackNumbers,
  projectId: string,
  ids: readonly string[],
): Promise<RemovedRecords> {
  const gone = await transaction
    .deleteFrom("feedback")
    .where("project_id", "=", projectId)
    .where("id", "in", ids)
    .returning(recordColumns)
    .execute();
  const removed = gone.map((row) => ({ record: recordOf(row), sequence: row.sequence }));
  for (const one of removed) await numbers.remove(transaction, one);
  const revisions = await transaction
    .deleteFrom("feedback_revisions")
    .where("project_id", "=", projectId)
    .where("id", "in", ids)
    .returning(sizeOf(["record"]).as("bytes"))
    .execute();
  return {
    records: removed.map(({ record }) => record),
    recordBytes: gone.reduce((sum, { payload }) => sum + Buffer.byteLength(payload), 0),
    revisionBytes: revisions.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/**
 * Copies the current content of a record to its history, and returns the record; null if it does not exist. Other
 * transactions that replace the record wait until this transaction ends.
 */
async function putInHistory(
  transaction: Transaction<Schema>,
  projectId: string,
  id: string,
  at: Date,
): Promise<ReplacedRecord | null> {
  const row = await transaction
    .updateTable("feedback")
    .set((row) => ({ last_revision_sequence: row("last_revision_sequence", "+", 1) }))
    .where("project_id", "=", projectId)
    .where("id", "=", id)
    .returning([...recordColumns, "last_revision_sequence"])
    .executeTakeFirst();
  if (row === undefined) return null;
  const record = recordOf(row);
  const stored = JSON.stringify(record);
  await transaction
    .insertInto("feedback_revisions")
    .values({
      project_id: projectId,
      id,
      sequence: row.last_revision_sequence,
      replaced_at: at.toISOString(),
      record: stored,
    })
    .execute();
  const payloadBytes = Buffer.byteLength(row.payload);
  return { record, sequence: row.sequence, payloadBytes, revisionBytes: Buffer.byteLength(stored) };
}

function keyOf({ projectId, id }: Pick<FeedbackRecord, "projectId" | "id">): string {
  return JSON.stringify([projectId, id]);
}

function tooManyBatches(): ServiceError {
  const message = `The batches before this one took longer than ${batchWaitMs / 1000} s, or too many wait. Send it again later, and fewer at once.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 5 });
}

function idTaken(index: number, id: string): Fault {
  return {
    location: [String(index), "id"],
    message: `A record with the id ${quoted(id)} and other content exists already. Use another id, or replace that record.`,
    type: "conflict",
  };
}

function revisionOf(row: Selectable<FeedbackRevisionTable>): FeedbackRevision {
  return {
    id: String(row.sequence),
    replacedAt: new Date(row.replaced_at),
    record: revisedRecord(row.record),
  };
}

/**
 * Returns the sequence number in a revision id. Returns -1, which no revision has, if the id does not have exactly the
 * form that `revisionOf` writes.
 */
function sequenceOf(revisionId: string): number {
  const sequence = Number(revisionId);
  return Number.isSafeInteger(sequence) && String(sequence) === revisionId ? sequence : -1;
}

function revisedRecord(text: string): FeedbackRecord {
  // Safe cast: `putInHistory` wrote this JSON, in which only dates have another type.
  const record = JSON.parse(text) as Omit<FeedbackRecord, "createdAt"> & { readonly createdAt: string };
  return { ...record, createdAt: new Date(record.createdAt) };
}

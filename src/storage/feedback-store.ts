// Feedback records and what was replaced of them. Checking the content is not done here.
import type { Kysely, Selectable, Transaction } from "kysely";
import { present } from "../domain/assert.ts";
import type { FeedbackRecord, FeedbackRevision } from "../domain/feedback.ts";
import type { FeedbackStore } from "../domain/feedback-query/feedback-store.ts";
import { type Fault, quoted, ServiceError } from "../domain/service-error.ts";
import { selected } from "../domain/feedback-query/answer-in-memory.ts";
import { holds } from "../domain/feedback-query/evaluate.ts";
import type { FeedbackScan, FeedbackScanPage } from "../domain/feedback-query/feedback-query.ts";
import { fittingCount, pageBytesMax } from "../domain/page.ts";
import { calledBy } from "./completions/call-feedback.ts";
import { GroupCommit, type Outcome } from "./group-commit.ts";
import { readPage, sizeOf } from "./paging.ts";
import { portions } from "./portions.ts";
import type { FeedbackRevisionTable, Schema } from "./schema.ts";
import { nextSequences } from "./sequences.ts";

/** Records written, or looked for, by one statement. */
const recordsMax = 100;

/** Records created one by one that share a transaction, and characters of their payloads. */
const groupRecordsMax = 256;
const groupLengthMax = 1 << 20;

/** The feedback store on a migrated database. */
export function createFeedbackStore(database: Kysely<Schema>): FeedbackStore {
  const singles = new GroupCommit<FeedbackRecord, FeedbackRecord>({
    write: (records) => database.transaction().execute((transaction) => createEach(transaction, records)),
    itemsMax: groupRecordsMax,
    lengthMax: groupLengthMax,
    lengthOf: ({ payload }) => JSON.stringify(payload).length,
  });
  return {
    create: async (records) => {
      if (records.length === 1) return [await singles.add(records[0])];
      return database.transaction().execute((transaction) => createAll(transaction, records));
    },
    find: async (projectId, id) => await findRecord(database, projectId, id),
    replace: (projectId, id, content, at) =>
      database.transaction().execute(async (transaction) => {
        const earlier = await putInHistory(transaction, projectId, id, at);
        if (earlier === null) return null;
        const record = { ...content, projectId, id, createdAt: earlier.createdAt };
        await transaction
          .updateTable("feedback")
          .set(rowOf(record))
          .where("project_id", "=", projectId)
          .where("id", "=", id)
          .execute();
        return record;
      }),
    query: async ({ limit, offset, bytesMax = pageBytesMax, ...query }) => {
      const found = selected(await recordsOf(database, query.projectId), query);
      const listed = found.slice(offset, offset + limit);
      const sizes = listed.map((record) => Buffer.byteLength(JSON.stringify(record)));
      return { items: listed.slice(0, fittingCount(sizes, bytesMax)), totalCount: found.length };
    },
    scan: (scan) => scanRecords(database, scan),
    delete: (projectId, ids) =>
      database.transaction().execute(async (transaction) => {
        for (const id of ids) {
          for (const table of ["feedback", "feedback_revisions"] as const) {
            await transaction
              .deleteFrom(table)
              .where("project_id", "=", projectId)
              .where("id", "=", id)
              .execute();
          }
        }
      }),
    history: (projectId, id, page) => {
      const rows = database
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

async function createAll(
  transaction: Transaction<Schema>,
  records: readonly FeedbackRecord[],
): Promise<readonly FeedbackRecord[]> {
  const answers = await answersTo(transaction, records);
  const stored = answers.filter((answer) => answer !== null);
  if (stored.length === answers.length) return stored;
  const faults = answers.flatMap((answer, index) =>
    answer === null ? [idTaken(index, records[index].id)] : [],
  );
  const message = `${faults.length} of ${records.length} records have the id of a record with other content. Nothing was stored.`;
  throw new ServiceError({ code: "conflict", message, faults });
}

/** Each is written, or has an error of its own. */
async function createEach(
  transaction: Transaction<Schema>,
  records: readonly FeedbackRecord[],
): Promise<readonly Outcome<FeedbackRecord>[]> {
  const answers = await answersTo(transaction, records);
  return answers.map((answer, index) => {
    if (answer !== null) return { result: answer };
    const fault = idTaken(0, records[index].id);
    return { error: new ServiceError({ code: "conflict", message: fault.message, faults: [fault] }) };
  });
}

/** Inserts the records whose ids are free; for each what is stored now; null where its id has other content. */
async function answersTo(
  transaction: Transaction<Schema>,
  records: readonly FeedbackRecord[],
): Promise<readonly (FeedbackRecord | null)[]> {
  if (records.length === 0) return [];
  const stored = await insertNew(transaction, records);
  const answers: (FeedbackRecord | null)[] = [];
  for (const record of records) answers.push(await answerTo(transaction, record, storedOf(stored, record)));
  return answers;
}

/** What is stored, or what was stored first, with the content of this record; null where neither has it. */
async function answerTo(
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
  const first = row === undefined ? null : recordOf(row.record);
  return first?.contentHash === contentHash ? first : null;
}

function storedOf(stored: ReadonlyMap<string, FeedbackRecord>, record: FeedbackRecord): FeedbackRecord {
  return present(stored.get(keyOf(record.projectId, record.id)), "the stored record");
}

/** Inserts the records whose ids are free, the first of each id; returns what is stored under every id, by key. */
async function insertNew(
  transaction: Transaction<Schema>,
  records: readonly FeedbackRecord[],
): Promise<ReadonlyMap<string, FeedbackRecord>> {
  const firstByKey = new Map<string, FeedbackRecord>();
  for (const record of records) {
    const key = keyOf(record.projectId, record.id);
    if (!firstByKey.has(key)) firstByKey.set(key, record);
  }
  const last = await nextSequences(transaction, "feedback", firstByKey.size);
  const sequences = new Map(
    [...firstByKey.keys()].map((key, index) => [key, last - firstByKey.size + 1 + index]),
  );
  // One order for all: two batches with the same ids then wait for each other in turn, and never in a circle.
  const keys = [...firstByKey.keys()].sort();
  const rows = function* () {
    for (const key of keys) {
      const record = present(firstByKey.get(key), "a record");
      const sequence = present(sequences.get(key), "its number");
      yield { key, record, row: { ...rowOf(record), sequence } };
    }
  };
  const stored = new Map<string, FeedbackRecord>();
  for (const portion of portions(rows(), { rowsMax: recordsMax, lengthOf: ({ row }) => row.record.length })) {
    const inserted = await transaction
      .insertInto("feedback")
      .values(portion.map(({ row }) => row))
      .onConflict((conflict) => conflict.doNothing())
      .returning(["project_id", "id"])
      .execute();
    const insertedKeys = new Set(inserted.map((row) => keyOf(row.project_id, row.id)));
    const taken: FeedbackRecord[] = [];
    for (const { key, record } of portion) {
      if (insertedKeys.has(key)) stored.set(key, record);
      else taken.push(record);
    }
    for (const record of await findAll(transaction, taken)) {
      stored.set(keyOf(record.projectId, record.id), record);
    }
  }
  return stored;
}

/** What is stored under the ids of these records, which one statement can look for. */
async function findAll(
  transaction: Transaction<Schema>,
  records: readonly FeedbackRecord[],
): Promise<readonly FeedbackRecord[]> {
  const found: FeedbackRecord[] = [];
  for (const projectId of new Set(records.map((record) => record.projectId))) {
    const ids = records.filter((record) => record.projectId === projectId).map(({ id }) => id);
    found.push(...(await findByIds(transaction, projectId, ids)));
  }
  return found;
}

/** @param ids at least one */
async function findByIds(
  queries: Kysely<Schema>,
  projectId: string,
  ids: readonly string[],
): Promise<readonly FeedbackRecord[]> {
  const rows = await queries
    .selectFrom("feedback")
    .select("record")
    .where("project_id", "=", projectId)
    .where("id", "in", ids)
    .execute();
  return rows.map((row) => recordOf(row.record));
}

/** A page of what was stored, of which those are left out that the condition does not hold for. */
async function scanRecords(
  database: Kysely<Schema>,
  { projectId, condition, after, limit, bytesMax = pageBytesMax }: FeedbackScan,
): Promise<FeedbackScanPage> {
  const rows = database
    .selectFrom("feedback")
    .where("project_id", "=", projectId)
    .where("sequence", ">", after ?? 0)
    .orderBy("sequence");
  const sizes = await rows
    .select(["sequence", sizeOf(["record"]).as("bytes")])
    .limit(limit + 1)
    .execute();
  const count = fittingCount(
    sizes.slice(0, limit).map(({ bytes }) => bytes),
    bytesMax,
  );
  if (count === 0) return { items: [], last: null, hasMore: false };
  const last = sizes[count - 1].sequence;
  const found = await rows.select("record").where("sequence", "<=", last).execute();
  const items = found.map(({ record }) => recordOf(record)).filter((record) => holds(condition, record));
  return { items, last, hasMore: sizes.length > count };
}

/**
 * Writes the record as it is into its history, and returns it; null when there is none. Others that replace it wait from
 * here until the transaction ends.
 */
async function putInHistory(
  transaction: Transaction<Schema>,
  projectId: string,
  id: string,
  at: Date,
): Promise<FeedbackRecord | null> {
  const row = await transaction
    .updateTable("feedback")
    .set((row) => ({ last_revision_sequence: row("last_revision_sequence", "+", 1) }))
    .where("project_id", "=", projectId)
    .where("id", "=", id)
    .returning(["record", "last_revision_sequence"])
    .executeTakeFirst();
  if (row === undefined) return null;
  await transaction
    .insertInto("feedback_revisions")
    .values({
      project_id: projectId,
      id,
      sequence: row.last_revision_sequence,
      replaced_at: at.toISOString(),
      record: row.record,
    })
    .execute();
  return recordOf(row.record);
}

/** Every record of a project, in the order in which they were stored. */
async function recordsOf(database: Kysely<Schema>, projectId: string): Promise<readonly FeedbackRecord[]> {
  const rows = await database
    .selectFrom("feedback")
    .select("record")
    .where("project_id", "=", projectId)
    .orderBy("sequence")
    .execute();
  return rows.map(({ record }) => recordOf(record));
}

async function findRecord(
  database: Kysely<Schema>,
  projectId: string,
  id: string,
): Promise<FeedbackRecord | null> {
  const row = await database
    .selectFrom("feedback")
    .select("record")
    .where("project_id", "=", projectId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row === undefined ? null : recordOf(row.record);
}

function keyOf(projectId: string, id: string): string {
  return JSON.stringify([projectId, id]);
}

function idTaken(index: number, id: string): Fault {
  return {
    location: [String(index), "id"],
    message: `A record with the id ${quoted(id)} and other content exists already. Use another id, or replace that record.`,
    type: "conflict",
  };
}

function rowOf(record: FeedbackRecord) {
  return {
    project_id: record.projectId,
    id: record.id,
    vendor_ref: record.vendorRef,
    feedback_type: record.feedbackType,
    vendor_user_id: record.vendorUserId,
    created_at: record.createdAt.toISOString(),
    content_hash: record.contentHash,
    record: JSON.stringify(record),
    call_id: calledBy(record),
  };
}

function revisionOf(row: Selectable<FeedbackRevisionTable>): FeedbackRevision {
  return {
    id: String(row.sequence),
    replacedAt: new Date(row.replaced_at),
    record: recordOf(row.record),
  };
}

/** -1, which no revision has, unless the id is written exactly as `revisionOf` writes it. */
function sequenceOf(revisionId: string): number {
  const sequence = Number(revisionId);
  return Number.isSafeInteger(sequence) && String(sequence) === revisionId ? sequence : -1;
}

function recordOf(text: string): FeedbackRecord {
  // The text is what `rowOf` made of a record; only dates change their form in JSON.
  const record = JSON.parse(text) as Omit<FeedbackRecord, "createdAt"> & { readonly createdAt: string };
  return { ...record, createdAt: new Date(record.createdAt) };
}

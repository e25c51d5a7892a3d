// Feedback records and what was replaced of them. Checking the content is not done here.
import type { Kysely, Transaction } from "kysely";
import { present } from "../domain/assert.ts";
import type { FeedbackRecord, FeedbackStore } from "../domain/feedback.ts";
import { type Fault, ServiceError } from "../domain/service-error.ts";
import type { Schema } from "./schema.ts";

/** Rows a statement reads or writes at once: well under SQLite's limit of parameters. */
const rowsPerStatement = 500;

/** The feedback store on a migrated database. */
export function createFeedbackStore(database: Kysely<Schema>): FeedbackStore {
  return {
    create: (records) => database.transaction().execute((transaction) => createRecords(transaction, records)),
    find: async (projectId, id) => await findRecord(database, projectId, id),
    replace: (projectId, id, content, at) =>
      database.transaction().execute(async (transaction) => {
        const earlier = await findRecord(transaction, projectId, id);
        if (earlier === null) return null;
        await transaction
          .insertInto("feedback_revisions")
          .values({
            project_id: projectId,
            id,
            replaced_at: at.toISOString(),
            record: JSON.stringify(earlier),
          })
          .execute();
        const record = { ...content, projectId, id, createdAt: earlier.createdAt };
        await transaction
          .updateTable("feedback")
          .set(rowOf(record))
          .where("project_id", "=", projectId)
          .where("id", "=", id)
          .execute();
        return record;
      }),
    history: async (projectId, id) => {
      const rows = await database
        .selectFrom("feedback_revisions")
        .select(["replaced_at", "record"])
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .orderBy("position")
        .execute();
      return rows.map((row) => ({ replacedAt: new Date(row.replaced_at), record: recordOf(row.record) }));
    },
  };
}

async function createRecords(
  transaction: Transaction<Schema>,
  records: readonly FeedbackRecord[],
): Promise<readonly FeedbackRecord[]> {
  const stored = await findStored(transaction, records);
  const fresh: FeedbackRecord[] = [];
  const faults: Fault[] = [];
  for (const [index, record] of records.entries()) {
    const key = keyOf(record.projectId, record.id);
    const earlier = stored.get(key);
    if (earlier === undefined) {
      stored.set(key, record);
      fresh.push(record);
    } else if (earlier.contentHash !== record.contentHash) {
      faults.push(idTaken(index, record.id));
    }
  }
  if (faults.length > 0) {
    throw new ServiceError({
      code: "conflict",
      message: `${faults.length} of ${records.length} records have the id of a record with other content. Nothing was stored.`,
      faults,
    });
  }
  for (let start = 0; start < fresh.length; start += rowsPerStatement) {
    const rows = fresh.slice(start, start + rowsPerStatement).map(rowOf);
    await transaction.insertInto("feedback").values(rows).execute();
  }
  return records.map((record) =>
    present(stored.get(keyOf(record.projectId, record.id)), "the stored record"),
  );
}

/** Which of these ids exist in their projects, by key. */
async function findStored(
  transaction: Transaction<Schema>,
  records: readonly FeedbackRecord[],
): Promise<Map<string, FeedbackRecord>> {
  const idsByProject = new Map<string, string[]>();
  for (const { projectId, id } of records) {
    const ids = idsByProject.get(projectId);
    if (ids === undefined) idsByProject.set(projectId, [id]);
    else ids.push(id);
  }
  const stored = new Map<string, FeedbackRecord>();
  for (const [projectId, ids] of idsByProject) {
    for (let start = 0; start < ids.length; start += rowsPerStatement) {
      const rows = await transaction
        .selectFrom("feedback")
        .select(["id", "record"])
        .where("project_id", "=", projectId)
        .where("id", "in", ids.slice(start, start + rowsPerStatement))
        .execute();
      for (const row of rows) stored.set(keyOf(projectId, row.id), recordOf(row.record));
    }
  }
  return stored;
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
    location: ["body", "batch", String(index), "id"],
    message: `A record with the id ${JSON.stringify(id)} and other content exists already. Use another id, or replace that record.`,
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
  };
}

function recordOf(text: string): FeedbackRecord {
  // The text is what `rowOf` made of a record; only dates change their form in JSON.
  const record = JSON.parse(text) as Omit<FeedbackRecord, "createdAt"> & { readonly createdAt: string };
  return { ...record, createdAt: new Date(record.createdAt) };
}

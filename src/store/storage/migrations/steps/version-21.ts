// To version 21: feedback in columns, with what queries go by beside it.
import { sql, type Transaction } from "kysely";
import type { FeedbackRecord } from "../../../../base/domain/feedback.ts";
import { insertRecords, type NumberedRecord } from "../../feedback/feedback-rows.ts";
import type { Schema } from "../../schema.ts";
import { feedbackByCall } from "./version-19.ts";

/**
 * Those of feedback/, which a new database has too. The indexes are those of the usual questions, each in the order in
 * which it is usually asked; those of columns that few records have hold these records alone.
 */
export const feedbackTables: readonly string[] = [
  `create table feedback (
      project_id text not null, sequence bigint not null, id text not null, vendor_ref text not null,
      feedback_type text not null, vendor_user_id text not null, creator text, annotation_ref text,
      runnable_ref text, call_ref text, trigger_ref text, queue_id text, created_at text not null,
      content_hash text not null, payload text not null, exact text, emoji text,
      has_more_numbers integer not null default 0, last_revision_sequence integer not null default 0,
      call_id text,
      unique (project_id, id)
    )`,
  "create unique index feedback_as_stored on feedback (project_id, sequence)",
  "create index feedback_on_reference on feedback (project_id, vendor_ref, created_at, sequence)",
  "create index feedback_of_type on feedback (project_id, feedback_type, created_at, sequence)",
  "create index feedback_of_user on feedback (project_id, vendor_user_id, created_at, sequence)",
  "create index feedback_by_time on feedback (project_id, created_at, sequence)",
  "create index feedback_of_queue on feedback (project_id, queue_id, created_at, sequence) where queue_id is not null",
  "create index feedback_with_emoji on feedback (project_id, emoji, created_at, sequence) where emoji is not null",
  "create index feedback_with_more_numbers on feedback (project_id, sequence) where has_more_numbers = 1",
  feedbackByCall,
  "create table feedback_fields (id bigint primary key, project_id text not null, path text not null, unique (project_id, path))",
];

/** As this version had it; the next but one makes and fills it anew. */
const numbersTable = `create table feedback_numbers (
  field_id bigint not null, number double precision not null, sequence bigint not null,
  primary key (field_id, number, sequence)
)`;

const earlierTables = [
  "drop index feedback_by_reference",
  "drop index feedback_as_stored",
  "drop index feedback_by_call",
  "alter table feedback rename to earlier_feedback",
  "create unique index earlier_feedback_in_order on earlier_feedback (sequence)",
];

/** Read at once; each may have a megabyte. */
const recordsPerPortion = 50;

export async function addVersion21(transaction: Transaction<Schema>): Promise<void> {
  for (const statement of [...earlierTables, ...feedbackTables, numbersTable])
    await sql.raw(statement).execute(transaction);
  for (let last = 0; ;) {
    const rows = await earlierRows(transaction, last);
    if (rows.length === 0) break;
    const numbered = rows.map((row): NumberedRecord => {
      last = row.sequence;
      return { record: recordOf(row), sequence: row.sequence, lastRevision: row.last_revision_sequence };
    });
    await insertRecords(transaction, numbered);
  }
  await sql`drop table earlier_feedback`.execute(transaction);
}

interface EarlierRow {
  readonly sequence: number;
  readonly record: string;
  readonly last_revision_sequence: number;
}

async function earlierRows(transaction: Transaction<Schema>, after: number): Promise<readonly EarlierRow[]> {
  const { rows } = await sql<EarlierRow>`
    select sequence, record, last_revision_sequence from earlier_feedback
    where sequence > ${after} order by sequence limit ${recordsPerPortion}`.execute(transaction);
  return rows;
}

function recordOf({ record: text }: EarlierRow): FeedbackRecord {
  // What the store wrote then; only dates change their form in JSON.
  const record = JSON.parse(text) as Omit<FeedbackRecord, "createdAt"> & { readonly createdAt: string };
  return { ...record, createdAt: new Date(record.createdAt) };
}

// Feedback records as rows, which are their stored form with numbers and times.
import type { Selectable, Transaction, Updateable } from "kysely";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { exactParts, storedForm } from "../../../base/domain/feedback-query/stored-form.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import { insertRows } from "../insert-rows.ts";
import { portions } from "../portions.ts";
import type { FeedbackTable, Schema } from "../schema.ts";

export interface NumberedRecord {
  readonly record: FeedbackRecord;
  /** Its number among all. */
  readonly sequence: number;
  /** How often it was replaced; 0 unless given. */
  readonly lastRevision?: number;
}

/** Of one statement, of twenty parameters each. */
const rowsMax = 200;

/**
 * Inserts the records whose ids are free, and leaves out the others.
 *
 * @returns how many were inserted
 */
export async function insertRecords(
  transaction: Transaction<Schema>,
  records: readonly NumberedRecord[],
): Promise<number> {
  let count = 0;
  for (const { columns, rows } of rowsByColumns(records))
    for (const portion of portions(rows, { rowsMax, lengthOf: lengthOfRow }))
      count += await insertRows(transaction, "feedback", columns, portion);
  return count;
}

type Row = readonly (string | number)[];

/** Characters of the row's texts. */
function lengthOfRow(row: Row): number {
  return row.reduce<number>((length, value) => length + (typeof value === "string" ? value.length : 0), 0);
}

/** Most records leave the same columns at null or 0, as they are unless something is said of them: these are not sent. */
function rowsByColumns(
  records: readonly NumberedRecord[],
): Iterable<{ readonly columns: readonly (typeof columnNames)[number][]; readonly rows: readonly Row[] }> {
  const byFilled = new Map<number, { columns: (typeof columnNames)[number][]; rows: Row[] }>();
  for (const record of records) {
    let filled = 0;
    const row: (string | number)[] = [];
    for (const [index, value] of valuesOf(record).entries()) {
      if (value === null || value === 0) continue;
      filled |= 1 << index;
      row.push(value);
    }
    const alike = byFilled.get(filled);
    if (alike !== undefined) alike.rows.push(row);
    else
      byFilled.set(filled, { columns: columnNames.filter((_, index) => filled & (1 << index)), rows: [row] });
  }
  return byFilled.values();
}

/** Those that a replacement changes come last. */
const columnNames = [
  "project_id",
  "sequence",
  "id",
  "created_at",
  "last_revision_sequence",
  "vendor_ref",
  "feedback_type",
  "vendor_user_id",
  "creator",
  "annotation_ref",
  "runnable_ref",
  "call_ref",
  "trigger_ref",
  "queue_id",
  "content_hash",
  "payload",
  "exact",
  "emoji",
  "has_more_numbers",
  "call_id",
] as const satisfies readonly (keyof FeedbackTable)[];
const firstChanged = columnNames.indexOf("vendor_ref");

/** In the order of the columns. */
function valuesOf({
  record,
  sequence,
  lastRevision = 0,
}: NumberedRecord): readonly (string | number | null)[] {
  const form = storedForm(record);
  return [
    record.projectId,
    sequence,
    record.id,
    record.createdAt.toISOString(),
    lastRevision,
    record.vendorRef,
    record.feedbackType,
    record.vendorUserId,
    form.creator,
    record.annotationRef,
    record.runnableRef,
    record.callRef,
    record.triggerRef,
    form.queueId,
    record.contentHash,
    form.payload,
    form.exact,
    form.emoji,
    form.hasMoreNumbers ? 1 : 0,
    form.callId,
  ];
}

/** The columns that a replacement changes, which are all but the project, the id, the number and the time. */
export function changedColumns(record: FeedbackRecord): Updateable<FeedbackTable> {
  const values = valuesOf({ record, sequence: 0 });
  return Object.fromEntries(
    columnNames.slice(firstChanged).map((name, index) => [name, values[firstChanged + index]]),
  );
}

/** The columns that make a record. */
export const recordColumns = [
  "project_id",
  "sequence",
  "id",
  "vendor_ref",
  "feedback_type",
  "vendor_user_id",
  "creator",
  "annotation_ref",
  "runnable_ref",
  "call_ref",
  "trigger_ref",
  "queue_id",
  "created_at",
  "content_hash",
  "payload",
  "exact",
] as const satisfies readonly (keyof FeedbackTable)[];

export type RecordRow = Pick<Selectable<FeedbackTable>, (typeof recordColumns)[number]>;

export function recordOf(row: RecordRow): FeedbackRecord {
  const exact = exactParts(row.exact);
  return {
    id: row.id,
    projectId: row.project_id,
    vendorRef: row.vendor_ref,
    feedbackType: row.feedback_type,
    // What `storedForm` wrote.
    payload: exact?.payload ?? (JSON.parse(row.payload) as JsonObject),
    creator: exact === null ? row.creator : exact.creator,
    annotationRef: row.annotation_ref,
    runnableRef: row.runnable_ref,
    callRef: row.call_ref,
    triggerRef: row.trigger_ref,
    queueId: exact === null ? row.queue_id : exact.queueId,
    createdAt: new Date(row.created_at),
    vendorUserId: row.vendor_user_id,
    contentHash: row.content_hash,
  };
}

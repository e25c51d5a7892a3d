// Converts feedback records to rows and back. A row contains a record's stored form, its sequence number and its times.
import type { Selectable, Transaction, Updateable } from "kysely";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { packedFields, packedValues } from "../../../base/domain/feedback-query/feedback-batch.ts";
import { exactParts, storedForm } from "../../../base/domain/feedback-query/stored-form.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import { snakeCase, type SnakeCase } from "../../../base/domain/text/names.ts";
import { insertRows } from "../insert-rows.ts";
import { chunkRows } from "../chunks.ts";
import type { FeedbackTable, Schema } from "../schema.ts";

export interface NumberedRecord {
  readonly record: FeedbackRecord;
  /** Sequence number, which gives the record's place in storage order. */
  readonly sequence: number;
}

/** Names of the columns for `packedFields`, in the order of these fields. */
export const packedColumns = packedFields.map(snakeCase) as readonly PackedColumn[];
type PackedColumn = SnakeCase<(typeof packedFields)[number]>;

const columns = ["sequence", "created_at", "vendor_user_id", ...packedColumns] as const;
type Column = (typeof columns)[number];

/** Maximum number of rows in one SQL statement. */
const rowsMax = 200;

/**
 * Inserts records. Skips records whose ids exist already.
 *
 * @returns number of inserted records
 */
export async function insertRecords(
  transaction: Transaction<Schema>,
  records: readonly NumberedRecord[],
): Promise<number> {
  const rows = records.map(({ record, sequence }) => [
    sequence,
    record.createdAt.toISOString(),
    record.vendorUserId,
    ...valuesOf(record),
  ]);
  let count = 0;
  for (const chunk of chunkRows(rows, { rowsMax, lengthOf: lengthOfRow }))
    count += await insertRows(transaction, "feedback", columns, chunk);
  return count;
}

/** Returns the column values of a record, in the order of {@link packedColumns}. */
function valuesOf(record: FeedbackRecord): readonly (string | number | null)[] {
  const { id, contentHash } = record;
  return packedValues({ id, content: record, contentHash }, storedForm(record));
}

/** Counts the characters in the texts of a row. */
function lengthOfRow(row: readonly unknown[]): number {
  return row.reduce<number>((length, value) => length + (typeof value === "string" ? value.length : 0), 0);
}

/**
 * Returns the column values that replacing a record changes: all except project, id, sequence number and creation time.
 */
export function changedColumns(record: FeedbackRecord): Updateable<FeedbackTable> {
  const values = valuesOf(record);
  const packed = packedColumns.map((column, index) => [column, values[index]] as const);
  const changed = packed.filter(([column]) => column !== "project_id" && column !== "id");
  return { ...Object.fromEntries(changed), vendor_user_id: record.vendorUserId };
}

/** Columns that exist only so that queries can find records by them. */
const searchColumns = ["emoji", "has_more_numbers", "call_id"] as const;
type RecordColumn = Exclude<Column, (typeof searchColumns)[number]>;

/** Columns that are needed to restore a record. */
export const recordColumns = columns.filter(
  (column): column is RecordColumn => !(searchColumns as readonly Column[]).includes(column),
);

export type RecordRow = Pick<Selectable<FeedbackTable>, RecordColumn>;

export function recordOf(row: RecordRow): FeedbackRecord {
  const exact = exactParts(row.exact);
  return {
    id: row.id,
    projectId: row.project_id,
    vendorRef: row.vendor_ref,
    feedbackType: row.feedback_type,
    // Safe cast: `storedForm` wrote this JSON.
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

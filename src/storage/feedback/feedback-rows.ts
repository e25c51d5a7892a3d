// Feedback records as rows. Texts of them are kept as queries see them; where that is not what they are, since NUL and half
// surrogate pairs stay in no text of a database, what they are is kept beside it as JSON, which escapes them.
import type { Selectable, Transaction, Updateable } from "kysely";
import type { FeedbackRecord } from "../../domain/feedback.ts";
import { searchableJson, searchableText } from "../../domain/feedback-query/values.ts";
import type { JsonObject } from "../../domain/trajectory.ts";
import { calledBy } from "../completions/call-feedback.ts";
import { insertRows } from "../insert-rows.ts";
import { portions } from "../portions.ts";
import type { FeedbackTable, Schema } from "../schema.ts";
import { hasMoreNumbers } from "./numeric-index.ts";

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
  const payload = JSON.stringify(record.payload);
  const isSearchable =
    !mayBeOther.test(payload) && isSearchableText(record.creator) && isSearchableText(record.queueId);
  return [
    record.projectId,
    sequence,
    record.id,
    record.createdAt.toISOString(),
    lastRevision,
    record.vendorRef,
    record.feedbackType,
    record.vendorUserId,
    searchable(record.creator),
    record.annotationRef,
    record.runnableRef,
    record.callRef,
    record.triggerRef,
    searchable(record.queueId),
    record.contentHash,
    isSearchable ? payload : JSON.stringify(searchableJson(record.payload)),
    isSearchable ? null : JSON.stringify(exactOf(record)),
    emojiOf(record.payload),
    hasMoreNumbers(record.payload) ? 1 : 0,
    calledBy(record),
  ];
}

/** The columns that a replacement changes, which are all but the project, the id, the number and the time. */
export function changedColumns(record: FeedbackRecord): Updateable<FeedbackTable> {
  const values = valuesOf({ record, sequence: 0 });
  return Object.fromEntries(
    columnNames.slice(firstChanged).map((name, index) => [name, values[firstChanged + index]]),
  );
}

/** What JSON escapes of NUL and of half surrogate pairs, and of texts that look so. */
const mayBeOther = /\\u(?:0000|d[89a-f])/i;

function isSearchableText(text: string | null): boolean {
  return text === null || searchableText(text) === text;
}

function searchable(text: string | null): string | null {
  return text === null ? null : searchableText(text);
}

type Exact = Pick<FeedbackRecord, "payload" | "creator" | "queueId">;

function exactOf({ payload, creator, queueId }: FeedbackRecord): Exact {
  return { payload, creator, queueId };
}

/** What is longer is not found by the index, nor is what is no text. */
export const emojiLengthMax = 64;

/** What the index of emoji goes by. */
function emojiOf({ emoji }: JsonObject): string | null {
  return typeof emoji === "string" && emoji.length > 0 && emoji.length <= emojiLengthMax
    ? searchableText(emoji)
    : null;
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
  // What `rowOf` wrote.
  const exact = row.exact === null ? null : (JSON.parse(row.exact) as Exact);
  return {
    id: row.id,
    projectId: row.project_id,
    vendorRef: row.vendor_ref,
    feedbackType: row.feedback_type,
    // As it is written beside a record, for the same reason.
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

// Inserts the records of a batch, as they were packed, by a statement for each pack: they go from the reader of a request to
// the database as bytes.
import { type RawBuilder, sql, type Transaction } from "kysely";
import { type FeedbackBatch, packedFields } from "../../../base/domain/feedback-query/feedback-batch.ts";
import type { FeedbackAuthor } from "../../../base/domain/feedback-query/feedback-store.ts";
import type { FeedbackTable, Schema } from "../schema.ts";
import type { SqlForm } from "../sql-form.ts";

/** What of a packed record is in which column. */
const columnOf = {
  projectId: "project_id",
  id: "id",
  vendorRef: "vendor_ref",
  feedbackType: "feedback_type",
  creator: "creator",
  annotationRef: "annotation_ref",
  runnableRef: "runnable_ref",
  callRef: "call_ref",
  triggerRef: "trigger_ref",
  queueId: "queue_id",
  contentHash: "content_hash",
  exact: "exact",
  emoji: "emoji",
  hasMoreNumbers: "has_more_numbers",
  callId: "call_id",
  payload: "payload",
} as const satisfies { readonly [Field in (typeof packedFields)[number]]: keyof FeedbackTable };

/**
 * Inserts the records of a batch. Where an id of them is taken, or stands twice, the statement fails, since to look for each
 * before it is inserted costs a PostgreSQL as much as a sixth of the insertion; see `isKeyTaken` of the connection.
 *
 * @param first the number of the first one
 */
export async function insertBatch(
  transaction: Transaction<Schema>,
  form: SqlForm,
  { packs }: FeedbackBatch,
  { createdAt, vendorUserId, first }: FeedbackAuthor & { readonly first: number },
): Promise<void> {
  const columns = packedFields.map((field) => sql.ref(columnOf[field]));
  const values = packedFields.map(valueOf);
  let next = first;
  for (const pack of packs) {
    await sql`
      insert into feedback (sequence, created_at, vendor_user_id, ${sql.join(columns)})
      select ${next} + given.place, ${createdAt.toISOString()}, ${vendorUserId}, ${sql.join(values)}
      from ${form.givenRecords(pack)}`.execute(transaction);
    next += pack.count;
  }
}

function valueOf(field: (typeof packedFields)[number]): RawBuilder<unknown> {
  const value = sql`given.${sql.ref(field)}`;
  return field === "hasMoreNumbers" ? sql`cast(${value} as integer)` : value;
}

// Inserts the records of a packed batch, with one SQL statement for each pack. Passes the bytes that the request's
// parser wrote to the database unchanged.
import { type RawBuilder, sql, type Transaction } from "kysely";
import { type FeedbackBatch, packedFields } from "../../../base/domain/feedback-query/feedback-batch.ts";
import type { FeedbackAuthor } from "../../../base/domain/feedback-query/feedback-store.ts";
import type { Schema } from "../schema.ts";
import type { SqlForm } from "../sql-form.ts";
import { packedColumns } from "./feedback-rows.ts";

/**
 * Inserts the records of a batch. Fails if an id exists already or occurs twice (see `isKeyTaken` of the connection).
 * Does not look up ids first, because on PostgreSQL that would take up to a sixth of the insert's time.
 *
 * @param first sequence number of the first record
 */
export async function insertBatch(
  transaction: Transaction<Schema>,
  form: SqlForm,
  { packs }: FeedbackBatch,
  { createdAt, vendorUserId, first }: FeedbackAuthor & { readonly first: number },
): Promise<void> {
  const columns = packedColumns.map((column) => sql.ref(column));
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

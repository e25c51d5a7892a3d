// Reads a project's records by their sequence numbers, up to a byte limit. First reads the sizes of the records, then
// only the records that fit.
import { type Kysely } from "kysely";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { fittingCount } from "../../../base/domain/page.ts";
import { sizeOf } from "../paging.ts";
import { chunkRows } from "../chunks.ts";
import type { Schema } from "../schema.ts";
import { recordColumns, recordOf } from "./feedback-rows.ts";

/**
 * Maximum number of rows whose sizes one SQL statement reads, and maximum number of records that one statement reads.
 */
const sizesMax = 1000;
const recordsMax = 200;
/** Maximum size in bytes of the result of one SQL statement. */
const statementBytesMax = 1 << 20;
/** SQL for the size of those text columns that have no small maximum length. */
const contentBytes = sizeOf(["payload", "exact", "vendor_ref", "creator"]);
/** Assumed size in bytes of a record's other columns, which are not measured. */
const otherBytes = 512;

/**
 * Reads the records with the given sequence numbers, in their order, until the byte limit is reached. Skips records
 * that were deleted meanwhile.
 *
 * @returns the records, and as `lastIndex` the index of the last sequence number read; -1 if none was read
 */
export async function recordsAt(
  database: Kysely<Schema>,
  projectId: string,
  sequences: readonly number[],
  bytesMax: number,
): Promise<{ readonly items: readonly FeedbackRecord[]; readonly lastIndex: number }> {
  const small = await smallRecords(database, projectId, sequences, bytesMax);
  if (small !== null) return { items: small, lastIndex: sequences.length - 1 };
  const sizes = await sizesOf(database, projectId, sequences);
  const present = sequences
    .map((sequence, index) => ({ sequence, index, bytes: sizes.get(sequence) }))
    .filter((each): each is { sequence: number; index: number; bytes: number } => each.bytes !== undefined);
  const fitting = present.slice(
    0,
    fittingCount(
      present.map(({ bytes }) => bytes),
      bytesMax,
    ),
  );
  const found = new Map<number, FeedbackRecord>();
  for (const chunk of chunkRows(fitting, { rowsMax: recordsMax, lengthOf: ({ bytes }) => bytes })) {
    const rows = await database
      .selectFrom("feedback")
      .select(recordColumns)
      .where("project_id", "=", projectId)
      .where(
        "sequence",
        "in",
        chunk.map(({ sequence }) => sequence),
      )
      .execute();
    for (const row of rows) found.set(row.sequence, recordOf(row));
  }
  const items = fitting.flatMap(({ sequence }) => found.get(sequence) ?? []);
  return { items, lastIndex: fitting.at(-1)?.index ?? -1 };
}

/**
 * Reads all records in one SQL statement, which suffices for nearly all pages. Returns null if a record is missing or
 * exceeds its share of the byte limit.
 */
async function smallRecords(
  database: Kysely<Schema>,
  projectId: string,
  sequences: readonly number[],
  bytesMax: number,
): Promise<readonly FeedbackRecord[] | null> {
  if (sequences.length === 0 || sequences.length > recordsMax) return null;
  const share = Math.floor(Math.min(bytesMax, statementBytesMax) / sequences.length) - otherBytes;
  const rows = await database
    .selectFrom("feedback")
    .select(recordColumns)
    .where("project_id", "=", projectId)
    .where("sequence", "in", sequences)
    .where(contentBytes, "<=", share)
    .execute();
  if (rows.length < sequences.length) return null;
  const found = new Map(rows.map((row) => [row.sequence, recordOf(row)]));
  return sequences.flatMap((sequence) => found.get(sequence) ?? []);
}

async function sizesOf(
  database: Kysely<Schema>,
  projectId: string,
  sequences: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const sizes = new Map<number, number>();
  for (let start = 0; start < sequences.length; start += sizesMax) {
    const rows = await database
      .selectFrom("feedback")
      .select(["sequence", contentBytes.as("bytes")])
      .where("project_id", "=", projectId)
      .where("sequence", "in", sequences.slice(start, start + sizesMax))
      .execute();
    for (const { sequence, bytes } of rows) sizes.set(sequence, bytes + otherBytes);
  }
  return sizes;
}

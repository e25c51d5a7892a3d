// Records by their numbers in a project, up to a bound of bytes: sizes are read first, and then only the records that fit.
import { type Kysely } from "kysely";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { fittingCount } from "../../../base/domain/page.ts";
import { sizeOf } from "../paging.ts";
import { portions } from "../chunks.ts";
import type { Schema } from "../schema.ts";
import { recordColumns, recordOf } from "./feedback-rows.ts";

/** Looked up by one statement. */
const sizesMax = 1000;
const recordsMax = 200;
/** What one statement gives. */
const statementBytesMax = 1 << 20;
/** The columns of text without a small limit. */
const contentBytes = sizeOf(["payload", "exact", "vendor_ref", "creator"]);
/** Of the columns that are not counted. */
const otherBytes = 512;

/**
 * The records of these numbers, in this order, as many as fit in so many bytes; those that went meanwhile are left out.
 *
 * @returns `lastIndex` of the number that they end with; -1 where there is none
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
  for (const portion of portions(fitting, { rowsMax: recordsMax, lengthOf: ({ bytes }) => bytes })) {
    const rows = await database
      .selectFrom("feedback")
      .select(recordColumns)
      .where("project_id", "=", projectId)
      .where(
        "sequence",
        "in",
        portion.map(({ sequence }) => sequence),
      )
      .execute();
    for (const row of rows) found.set(row.sequence, recordOf(row));
  }
  const items = fitting.flatMap(({ sequence }) => found.get(sequence) ?? []);
  return { items, lastIndex: fitting.at(-1)?.index ?? -1 };
}

/**
 * The records of these numbers by a single statement, where all are there and none has more than its share of the bytes, as is
 * so of nearly all pages; else null.
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

// Tables of rows that clients of traces publish, such as the examples of a dataset. Named by the digest of their rows.
import type { Slice } from "./published-object.ts";

export interface TableRow {
  /** Of the value; equal for equal rows. */
  readonly digest: string;
  /** JSON, in the form that the digest is taken of. */
  readonly value: string;
}

export interface IndexedRow extends TableRow {
  /** Its place in the table, from 0. */
  readonly index: number;
}

export interface TableStore {
  /** Durable when it resolves, all rows or none; a table that is there already adds nothing. */
  create(
    table: { readonly projectId: string; readonly digest: string; readonly createdAt: Date },
    rows: readonly TableRow[],
  ): Promise<void>;
  /** How many rows it has; null where there is none. */
  count(projectId: string, digest: string): Promise<number | null>;
  /**
   * Rows in their order, bounded in items and in bytes; none where there is no such table.
   *
   * @param rowDigests those of these digests alone; null for all
   */
  rows(
    projectId: string,
    digest: string,
    rowDigests: readonly string[] | null,
    slice: Slice,
  ): Promise<readonly IndexedRow[]>;
}

// Tables of rows that clients of traces publish, such as the examples of a dataset. A table is named by the digests of its
// rows, and a project has each row once, however many of its tables have it.
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

export interface TableName {
  readonly projectId: string;
  readonly digest: string;
  readonly createdAt: Date;
}

export interface TableStore {
  /** Durable when it resolves, all rows or none; a table that is there already adds nothing. */
  create(table: TableName, rows: Iterable<TableRow>): Promise<void>;
  /** The same of rows that the project has already. @throws ServiceError `not_found` for one that it has not */
  createOf(table: TableName, rowDigests: Iterable<string>): Promise<void>;
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

// Tables of rows published by clients of traces, such as the examples of a dataset. A table is named by the digests of
// its rows. A project stores each row once, also if several tables contain it.
import type { Slice } from "./published-object.ts";

export interface TableRow {
  /** Digest of the value; equal for equal rows. */
  readonly digest: string;
  /** JSON, in the form that is digested. */
  readonly value: string;
}

export interface IndexedRow extends TableRow {
  /** Index in the table, from 0. */
  readonly index: number;
}

export interface TableName {
  readonly projectId: string;
  readonly digest: string;
  readonly createdAt: Date;
}

export interface TableStore {
  /** Durable when it resolves. Stores all rows or none; an existing table stays unchanged. */
  create(table: TableName, rows: Iterable<TableRow>): Promise<void>;
  /** Creates a table from rows that the project has. @throws ServiceError `not_found` for a row that it lacks */
  createOf(table: TableName, rowDigests: Iterable<string>): Promise<void>;
  /** Returns the number of rows; null if there is no such table. */
  count(projectId: string, digest: string): Promise<number | null>;
  /**
   * Returns rows in order, bounded in items and bytes; none if there is no such table.
   *
   * @param rowDigests only rows with these digests; null for all
   */
  rows(
    projectId: string,
    digest: string,
    rowDigests: readonly string[] | null,
    slice: Slice,
  ): Promise<readonly IndexedRow[]>;
}

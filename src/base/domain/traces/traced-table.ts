// Tables of rows that Weave clients publish, such as the examples of a dataset. A table's digest is computed from the
// digests of its rows. A project stores each row once, even if several tables contain it.
import type { Slice } from "./published-object.ts";

export interface TableRow {
  /** Digest of the row's value. Equal rows have the same digest. */
  readonly digest: string;
  /** Value as JSON text, in the form from which the digest was computed. */
  readonly value: string;
}

export interface IndexedRow extends TableRow {
  /** Index of the row in its table, counted from 0. */
  readonly index: number;
}

export interface TableName {
  readonly projectId: string;
  readonly digest: string;
  readonly createdAt: Date;
}

export interface TableStore {
  /** Stores a table with all its rows, or nothing; durable when it resolves. If the table exists, nothing changes. */
  create(table: TableName, rows: Iterable<TableRow>): Promise<void>;
  /**
   * Stores a table of rows that the project already has.
   *
   * @throws ServiceError `not_found` for a row that the project does not have
   */
  createOf(table: TableName, rowDigests: Iterable<string>): Promise<void>;
  /** Returns the number of rows of a table; null if there is no such table. */
  count(projectId: string, digest: string): Promise<number | null>;
  /**
   * Returns rows of a table in order. Their number and bytes are limited. The list is empty if there is no such table.
   *
   * @param rowDigests digests of the rows to return; null to return all rows
   */
  rows(
    projectId: string,
    digest: string,
    rowDigests: readonly string[] | null,
    slice: Slice,
  ): Promise<readonly IndexedRow[]>;
}

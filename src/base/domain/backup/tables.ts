// A database as tables of rows, independent of the kind of database: the contract between backups and the database.
// This module does not interpret the rows.

/** Value in a row. Texts contain no NUL; numbers are finite. */
export type Cell = string | number | null;

/** A table and the order of the values in its rows. */
export interface TableColumns {
  readonly table: string;
  readonly columns: readonly string[];
}

/** A consistent snapshot of a database, unaffected by concurrent writers. */
export interface TableSnapshot {
  /**
   * Returns a table's rows in pages of about one megabyte, in any order. Iterate one table at a time: concurrent
   * iterations are not supported.
   *
   * @throws ServiceError `unavailable` if the connection to the database is lost
   */
  rows(of: TableColumns): AsyncIterable<readonly (readonly Cell[])[]>;
  /**
   * Returns the faults that the database finds in its own data, one sentence each. For a database that can check
   * itself, this reads all data; for others, the list is empty.
   */
  faults(): Promise<readonly string[]>;
  /** Releases the snapshot. Idempotent. */
  close(): Promise<void>;
}

/** Inserts rows into tables; parent tables must be filled before their children. */
export interface TableFiller {
  /** @throws ServiceError `invalid` for a duplicate row, or one that refers to a missing row */
  readonly insert: (into: TableColumns, rows: readonly (readonly Cell[])[]) => Promise<void>;
}

/**
 * Compares the tables of a backup with those that a database of the same version has.
 *
 * @throws ServiceError `unsupported` for an unknown version, `invalid` for missing or unknown tables or columns
 */
export type RequireTables = (version: number, found: readonly TableColumns[]) => Promise<void>;

/** A database from which a backup is made, or into which one is restored. Its version changes only when it is filled. */
export interface DatabaseTables {
  /** Name for people. */
  readonly name: string;
  /** Kind of database, such as `sqlite`. */
  readonly kind: string;
  /** Schema version that this program uses. */
  readonly newestVersion: number;
  /**
   * Returns the tables that a backup contains, parents before their children. The table of server leases is not among
   * them.
   */
  tables(): Promise<readonly TableColumns[]>;
  /** Returns the schema version; null if the database contains no tables of Hone. */
  version(): Promise<number | null>;
  /** @throws ServiceError `unsupported` if the version is not the newest */
  snapshot(): Promise<TableSnapshot>;
  readonly requireTables: RequireTables;
  /** @throws ServiceError with the codes of {@link DatabaseTables.fill}, before anything is copied */
  requireEmpty(version: number): Promise<void>;
  /**
   * Creates the tables of a version, fills them in one transaction, and migrates them to the newest version. If `load`
   * throws, everything is rolled back.
   *
   * @throws ServiceError `conflict` if the database already contains rows, `unsupported` for an unknown version
   */
  fill(version: number, load: (filler: TableFiller) => Promise<void>): Promise<void>;
  /** Closes the database. Idempotent. */
  close(): Promise<void>;
}

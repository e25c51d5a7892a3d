// A database as tables of rows, independent of the kind of database. Backups access databases only through this
// contract, which does not interpret the rows.

/** Value in a row. Texts contain no NUL; numbers are finite. */
export type Cell = string | number | null;

/** Name of a table, and the order of the values in its rows. */
export interface TableColumns {
  readonly table: string;
  readonly columns: readonly string[];
}

/** A consistent snapshot of a database, unaffected by concurrent writers. */
export interface TableSnapshot {
  /**
   * Returns a table's rows in pages of about one megabyte, in any order. The caller must iterate over one table at a
   * time.
   *
   * @throws ServiceError `unavailable` if the connection to the database is lost
   */
  rows(of: TableColumns): AsyncIterable<readonly (readonly Cell[])[]>;
  /**
   * Returns the faults that the database finds in its own data, one sentence each. For this, a database that can check
   * itself reads all its data; for other databases, the list is empty.
   */
  faults(): Promise<readonly string[]>;
  /** Releases the snapshot. Idempotent. */
  close(): Promise<void>;
}

/** Inserts rows into tables. A row must be inserted before the rows that refer to it. */
export interface TableFiller {
  /** @throws ServiceError `invalid` for a duplicate row, or one that refers to a missing row */
  readonly insert: (into: TableColumns, rows: readonly (readonly Cell[])[]) => Promise<void>;
}

/**
 * Checks that a backup has the same tables and columns as a database of the same version.
 *
 * @throws ServiceError `unsupported` for an unknown version, `invalid` for missing or unknown tables or columns
 */
export type RequireTables = (version: number, found: readonly TableColumns[]) => Promise<void>;

/**
 * A database from which a backup is made, or into which a backup is restored. Its schema version changes only when it
 * is filled from a backup.
 */
export interface DatabaseTables {
  /** Name of the database in messages. */
  readonly name: string;
  /** Kind of database, such as `sqlite`. */
  readonly kind: string;
  /** Schema version that this program uses, which is the newest one. */
  readonly newestVersion: number;
  /**
   * Returns the tables that a backup contains. A table comes before the tables that refer to it. The table of server
   * leases is left out.
   */
  tables(): Promise<readonly TableColumns[]>;
  /** Returns the schema version of the database; null if it contains no tables of Hone. */
  version(): Promise<number | null>;
  /**
   * Begins a snapshot.
   *
   * @throws ServiceError `unsupported` if the schema version is not the newest
   */
  snapshot(): Promise<TableSnapshot>;
  readonly requireTables: RequireTables;
  /**
   * Checks that a backup of this schema version can fill the database.
   *
   * @throws ServiceError with the codes of {@link DatabaseTables.fill}, before anything is copied
   */
  requireEmpty(version: number): Promise<void>;
  /**
   * Creates the tables of a schema version, fills them in one transaction, and migrates them to the newest version. If
   * `load` throws, everything is rolled back.
   *
   * @throws ServiceError `conflict` if the database already contains rows, `unsupported` for an unknown version
   */
  fill(version: number, load: (filler: TableFiller) => Promise<void>): Promise<void>;
  /** Closes the database. Idempotent. */
  close(): Promise<void>;
}

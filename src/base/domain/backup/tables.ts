// A database as tables of rows, whichever it is: what copies of it are made of. The contract of storage/, without the meaning
// of any row.

/** A value of a row. Texts hold no NUL, numbers are finite. */
export type Cell = string | number | null;

/** A table of rows, and the order in which a row has its values. */
export interface TableColumns {
  readonly table: string;
  readonly columns: readonly string[];
}

/** A database as it is at one moment, whoever writes to it meanwhile. */
export interface TableSnapshot {
  /**
   * The rows of a table in pages of about a megabyte, in any order; of one table at a time.
   *
   * @throws ServiceError `unavailable` when the database goes away
   */
  rows(of: TableColumns): AsyncIterable<readonly (readonly Cell[])[]>;
  /** What the database itself finds wrong with what it keeps, a sentence each. Reads all of it where it can. */
  faults(): Promise<readonly string[]>;
  /** Lets go of it. Idempotent. */
  close(): Promise<void>;
}

/** Fills tables, those that others refer to first. */
export interface TableFiller {
  /** @throws ServiceError `invalid` for a row that comes twice, or refers to one that is not there */
  readonly insert: (into: TableColumns, rows: readonly (readonly Cell[])[]) => Promise<void>;
}

/**
 * Compares the tables that a copy names with those that a database of its version has.
 *
 * @throws ServiceError `unsupported` for a version that no copy has, `invalid` where tables or columns are missing or unknown
 */
export type RequireTables = (version: number, found: readonly TableColumns[]) => Promise<void>;

/** A database that is copied from or to. Its version stays as it is unless it is filled. */
export interface DatabaseTables {
  /** For people. */
  readonly name: string;
  /** Such as `sqlite`. */
  readonly kind: string;
  /** The version that this program works with. */
  readonly newestVersion: number;
  /** Returns the tables that copies have, parents before their children. Leases of servers are not among them. */
  tables(): Promise<readonly TableColumns[]>;
  /** Null where nothing of this program is in it. */
  version(): Promise<number | null>;
  /** @throws ServiceError `unsupported` where its version is not the newest */
  snapshot(): Promise<TableSnapshot>;
  readonly requireTables: RequireTables;
  /** @throws ServiceError as {@link DatabaseTables.fill}, before anything is copied */
  requireEmpty(version: number): Promise<void>;
  /**
   * Makes the tables of a version where there are none, fills them in one transaction, and brings them to the newest version.
   * Nothing is left of it where `load` throws.
   *
   * @throws ServiceError `conflict` where there are rows in it already, `unsupported` for a version that no copy has
   */
  fill(version: number, load: (filler: TableFiller) => Promise<void>): Promise<void>;
  /** Idempotent. */
  close(): Promise<void>;
}

// Interface of a database connection, which hides the differences between databases. Stores and migrations use only
// this interface and SQL that all databases accept. `sqlite/` and `postgres/` implement it.
import type { CompiledQuery, Kysely, Transaction } from "kysely";
import type { TableSnapshot } from "../../base/domain/backup/tables.ts";
import type { ServiceError } from "../../base/domain/service-error.ts";
import type { Announcer } from "./pubsub/announcer.ts";
import type { Schema } from "./schema.ts";
import type { Searches } from "./searches/searches.ts";
import type { SqlForm } from "./sql-form.ts";

/**
 * A database; the first query opens it. Stores rely on these properties of every kind:
 *
 * * A statement takes up to four thousand parameters, is atomic, and sees everything committed before it began.
 * * A row that a transaction wrote stays locked until the transaction ends. Another writer waits and then sees the row
 *   as it was left; inserts of the same unique key wait likewise.
 * * Waiting for another writer is not an error; waiting too long throws a ServiceError `unavailable`.
 * * Numbers arrive as numbers, including counts and sums, which PostgreSQL's clients return as text by default.
 * * No store tests membership in an empty list, which only SQLite accepts.
 * * A store that reads before it writes first writes the row it depends on (`lockJob`, `mergeMetrics`), so "read
 *   committed" isolation suffices. A database whose transactions cannot wait after a read must lock at their start.
 */
export interface Connection {
  readonly queries: Kysely<Schema>;
  /** Human-readable name of the database. */
  readonly name: string;
  /** Kind of database behind the connection. */
  readonly kind: "sqlite" | "postgres";
  /** True if no other server can use the database while this one does. */
  readonly isExclusive: boolean;
  /** True if a statement failed because a row to which it refers is missing. */
  readonly isMissingParent: (error: unknown) => boolean;
  /** True if a statement failed because a unique key of an inserted row is taken. */
  readonly isKeyTaken: (error: unknown) => boolean;
  /** SQL for operations that databases write differently. */
  readonly form: SqlForm;
  readonly searches: Searches;
  /** Sends announcements to all servers on the database; a server that is disconnected misses them. */
  readonly announcer: Announcer;
  /** Human-readable reason why the database cannot be reached; null if no problem is known. */
  readonly fault: () => string | null;
  /** Error of the first statement that found corrupt files; null if no corruption is known. */
  readonly damage: () => ServiceError | null;
  /** Reads the database's time. Null if the database uses this machine's clock anyway. */
  readonly readTime: (() => Promise<Date>) | null;
  /** Opens a snapshot of the database for copying. Reading the snapshot may block its thread on disk I/O. */
  readonly openSnapshot: () => Promise<TableSnapshot>;
  /**
   * Waits until no other process changes the tables, and keeps other processes from doing so until the transaction
   * ends.
   */
  readonly lockForMigration: (transaction: Transaction<Schema>) => Promise<void>;
  /**
   * Executes one statement in its own transaction, before the rows to which the statement refers are written. Null if a
   * long transaction does not block other writers of this database, so that no statement needs to run early.
   */
  readonly writeEarly: ((query: CompiledQuery) => Promise<void>) | null;
}

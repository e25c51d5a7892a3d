// What differs between databases, as one interface: a connection. Stores and migrations hold to it and to SQL that all of
// them read; sqlite/ and postgres/ each make one.
import type { CompiledQuery, Kysely, Transaction } from "kysely";
import type { TableSnapshot } from "../../base/domain/backup/tables.ts";
import type { ServiceError } from "../../base/domain/service-error.ts";
import type { Announcer } from "./pubsub/announcer.ts";
import type { Schema } from "./schema.ts";
import type { Searches } from "./searches/searches.ts";
import type { SqlForm } from "./sql-form.ts";

/**
 * A database, which the first query opens. What the stores rely on, of every kind:
 *
 * * A statement takes four thousand parameters, is carried out whole or not at all, and sees all that was committed
 *   before it began.
 * * A row that a transaction wrote is locked until the transaction ends: another one that writes it waits, and then
 *   goes by what the first one left. Inserts of the same unique key wait for each other likewise.
 * * Waiting for another writer is not an error; who waits too long gets a ServiceError `unavailable`.
 * * A number comes as a number, also a count or a sum, which PostgreSQL's clients give as text unless configured otherwise.
 *
 * No store asks for a value in an empty list, which is no SQL outside SQLite.
 *
 * So a store that reads before it writes first writes the row it will go by (`lockJob`, `mergeMetrics`), and then needs
 * no more than the isolation level "read committed". A database whose transactions cannot wait once they have read
 * has to lock when they begin.
 */
export interface Connection {
  readonly queries: Kysely<Schema>;
  /** For people. */
  readonly name: string;
  /** Which kind of database it is. */
  readonly kind: "sqlite" | "postgres";
  /** Whether no other server can work on it as long as this one does. */
  readonly isExclusive: boolean;
  /** Whether a statement failed because a row that it refers to is not there. */
  readonly isMissingParent: (error: unknown) => boolean;
  /** Whether a statement failed because a unique key of a row that it inserts is taken. */
  readonly isKeyTaken: (error: unknown) => boolean;
  /** How it writes what databases write in different ways. */
  readonly form: SqlForm;
  readonly searches: Searches;
  /** Reaches all servers that can be on the database, but for those that are away from it just then. */
  readonly announcer: Announcer;
  /** Why it cannot be reached now, for people; null as far as is known. */
  readonly fault: () => string | null;
  /** The error of the first statement that met damaged files; null as far as is known. */
  readonly damage: () => ServiceError | null;
  /** Asks what time it is there; null where that is this machine's time. */
  readonly readTime: (() => Promise<Date>) | null;
  /** Opens the database as it is now, for copies of it. Its thread may wait for the disk. */
  readonly openSnapshot: () => Promise<TableSnapshot>;
  /** Waits until no other process changes the tables; others wait from here until the transaction ends. */
  readonly lockForMigration: (transaction: Transaction<Schema>) => Promise<void>;
  /**
   * Carries out one statement in a transaction of its own; rows that it refers to may come later. Null where writers do not wait
   * for each other's long transactions, so that nothing has to be written early.
   */
  readonly writeEarly: ((query: CompiledQuery) => Promise<void>) | null;
}

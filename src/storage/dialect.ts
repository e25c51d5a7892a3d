// What differs between databases, as one interface. Stores and migrations hold to it and to SQL that all of them read;
// sqlite/ implements it, and another database is another implementation.
import type { CreateTableBuilder, Kysely } from "kysely";
import type { Schema } from "./schema.ts";

/**
 * A kind of database. What the stores rely on, of every one of them:
 *
 * * A statement takes four thousand parameters, is carried out whole or not at all, and sees all that was committed
 *   before it began.
 * * A row that a transaction wrote is locked until the transaction ends: another one that writes it waits, and then
 *   goes by what the first one left. Inserts of the same unique key wait for each other likewise.
 * * Waiting for another writer is not an error; who waits too long gets a ServiceError `unavailable`.
 *
 * So a store that reads before it writes first writes the row it will go by (`keepJob`, `layMetrics`), and then needs
 * no more than the isolation level "read committed". A database whose transactions cannot wait once they have read
 * has to lock when they begin.
 */
export interface DatabaseDialect {
  /** Adds a table's own key `position`, which counts up. No list goes by it: see sequences.ts. */
  positionColumn<TableName extends string, Columns extends string>(
    table: CreateTableBuilder<TableName, Columns>,
  ): CreateTableBuilder<TableName, Columns | "position">;
  /** Whether a statement failed because a row that it refers to is not there. */
  isMissingParent(error: unknown): boolean;
}

/** A database that is open. */
export interface Connection {
  readonly dialect: DatabaseDialect;
  readonly queries: Kysely<Schema>;
}

// What differs between databases, as one interface. Stores and migrations hold to it and to SQL that all of them read;
// sqlite/ implements it, and another database is another implementation.
import type { CreateTableBuilder, Kysely } from "kysely";
import type { Schema } from "./schema.ts";

/**
 * A kind of database. What every one of them gives, so that stores need no capability for it:
 *
 * * A statement is carried out whole or not at all, and sees all that was committed before it began.
 * * A row that a transaction wrote is locked until the transaction ends: another one that writes it waits, and then
 *   goes by what the first one left. Inserts of the same unique key wait for each other likewise.
 * * Waiting for another writer is not an error; who waits too long gets a ServiceError `unavailable`.
 *
 * So a store that reads before it writes first writes the row it will go by (see `keep` in the stores), and then needs
 * no more than the isolation level "read committed". A database whose transactions cannot wait once they have read
 * has to lock when they begin.
 */
export interface DatabaseDialect {
  readonly capabilities: {
    /** Most parameters of one statement. */
    readonly parametersMax: number;
  };
  /** Adds a table's own key `position`, which counts up. No list goes by it: see sequences.ts. */
  positionColumn<TableName extends string, Columns extends string>(
    table: CreateTableBuilder<TableName, Columns>,
  ): CreateTableBuilder<TableName, Columns | "position">;
  /** What kind of constraint a failed statement would have broken; null when it failed for another reason. */
  violationOf(error: unknown): "unique" | "foreign-key" | null;
}

/** A database that is open. */
export interface Connection {
  readonly dialect: DatabaseDialect;
  readonly queries: Kysely<Schema>;
}

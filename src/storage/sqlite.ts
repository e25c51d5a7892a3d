// The SQLite side of the stores: everything that differs between databases is in this file. libsql is synchronous,
// so every statement holds the event loop; callers keep them short.
import Database from "libsql";
import {
  CompiledQuery,
  Kysely,
  type DatabaseConnection,
  SqliteDialect,
  SqliteDriver,
  type ColumnDefinitionBuilder,
  type CreateTableBuilder,
  type SqliteDatabase,
  type SqliteStatement,
} from "kysely";
import { assert } from "../domain/assert.ts";
import type { Schema } from "./schema.ts";

/** How long a statement waits for another process (a command beside the server) before it fails, in milliseconds. */
const busyTimeoutMs = 5000;

/**
 * Opens a SQLite file for the stores: write-ahead log, every commit on disk before it returns, foreign keys checked.
 *
 * @throws the driver's error when the file cannot be opened or is not a database
 */
export function openSqlite(file: string): Kysely<Schema> {
  const database = new Database(file);
  try {
    for (const pragma of [
      `busy_timeout = ${busyTimeoutMs}`,
      "journal_mode = WAL",
      "synchronous = FULL",
      "foreign_keys = ON",
    ]) {
      database.prepare(`PRAGMA ${pragma}`).all();
    }
  } catch (error) {
    database.close();
    throw error;
  }
  return new Kysely<Schema>({ dialect: new LibsqlDialect({ database: guarded(database) }) });
}

/** A key that counts up and is never used twice, also after its row is gone: the order in which rows came. */
export function positionColumn<TableName extends string, Columns extends string>(
  table: CreateTableBuilder<TableName, Columns>,
): CreateTableBuilder<TableName, Columns | "position"> {
  return table.addColumn("position", "integer", (column: ColumnDefinitionBuilder) =>
    column.primaryKey().autoIncrement(),
  );
}

class LibsqlDialect extends SqliteDialect {
  readonly #config: { readonly database: SqliteDatabase };

  constructor(config: { readonly database: SqliteDatabase }) {
    super(config);
    this.#config = config;
  }

  override createDriver(): SqliteDriver {
    return new ImmediateDriver(this.#config);
  }
}

/**
 * Transactions take the write lock at once. A deferred one that reads first and writes later fails when another
 * process wrote in between, and no busy timeout helps against that.
 */
class ImmediateDriver extends SqliteDriver {
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }
}

/** libsql aborts the whole process on a parameter it does not know, such as a boolean: refuse those here. */
function guarded(database: Database.Database): SqliteDatabase {
  return {
    close: () => {
      // libsql keeps statements open until they are collected, and then does not fold the log into the file itself.
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      database.close();
    },
    prepare: (sql) => {
      const statement = database.prepare(sql);
      return {
        reader: statement.reader,
        all: (parameters) => statement.all(checked(parameters)),
        run: (parameters) => statement.run(checked(parameters)),
        iterate: (parameters) => statement.iterate(checked(parameters)),
      } satisfies SqliteStatement;
    },
  };
}

function checked(parameters: readonly unknown[]): unknown[] {
  for (const value of parameters) {
    const isKnown = value === null || typeof value === "string" || Number.isFinite(value);
    assert(isKnown, `a query parameter is a text, a finite number or null, not ${typeof value}`);
  }
  return [...parameters];
}

// SQLite as the stores' database. libsql is synchronous, so every statement holds the event loop; callers keep them short.
import Database from "libsql";
import {
  type ColumnDefinitionBuilder,
  type CreateTableBuilder,
  type CompiledQuery,
  Kysely,
  type QueryResult,
  SqliteDialect,
  SqliteDriver,
  type SqliteDatabase,
  type SqliteDialectConfig,
  type SqliteStatement,
} from "kysely";
import { assert } from "../../domain/assert.ts";
import type { Connection, DatabaseDialect } from "../dialect.ts";
import type { Schema } from "../schema.ts";
import { PatientConnection, type TransactionControl } from "./patient-connection.ts";

/** How long opening waits for another process, in milliseconds; what comes after waits without holding the event loop. */
const openingBusyMs = 5000;

const sqlite: DatabaseDialect = {
  positionColumn: <TableName extends string, Columns extends string>(
    table: CreateTableBuilder<TableName, Columns>,
  ) =>
    table.addColumn("position", "integer", (column: ColumnDefinitionBuilder) =>
      column.primaryKey().autoIncrement(),
    ),
  isMissingParent: (error) => codeOf(error) === "SQLITE_CONSTRAINT_FOREIGNKEY",
};

/**
 * Opens a SQLite file for the stores: write-ahead log, every commit on disk before it returns, foreign keys checked.
 *
 * @param file a path, or ":memory:"
 * @throws the driver's error when the file cannot be opened or is not a database
 */
export function openSqlite(file: string): Connection {
  const database = new Database(file);
  let reader: Database.Database | null = null;
  try {
    for (const pragma of [
      `busy_timeout = ${openingBusyMs}`,
      "journal_mode = WAL",
      "synchronous = FULL",
      "foreign_keys = ON",
      "busy_timeout = 0",
    ]) {
      database.prepare(`PRAGMA ${pragma}`).all();
    }
    if (file !== ":memory:") {
      reader = new Database(file);
      for (const pragma of ["busy_timeout = 0", "query_only = ON"]) reader.prepare(`PRAGMA ${pragma}`).all();
    }
  } catch (error) {
    reader?.close();
    database.close();
    throw error;
  }
  const config = { database: guarded(database) };
  const readerDriver = reader === null ? null : new SqliteDriver({ database: guarded(reader) });
  const queries = new Kysely<Schema>({
    dialect: new LibsqlDialect(config, controlOf(database), readerDriver),
  });
  return { dialect: sqlite, queries };
}

class LibsqlDialect extends SqliteDialect {
  readonly #config: SqliteDialectConfig;
  readonly #control: TransactionControl;
  readonly #reader: SqliteDriver | null;

  constructor(config: SqliteDialectConfig, control: TransactionControl, reader: SqliteDriver | null) {
    super(config);
    this.#config = config;
    this.#control = control;
    this.#reader = reader;
  }

  override createDriver(): SqliteDriver {
    return new PatientDriver(this.#config, this.#control, this.#reader);
  }
}

/**
 * Reads on a connection of its own, so that none waits for a transaction of this process or for the lock of another. A
 * database in memory has one connection for all, and its reads wait for writers.
 */
class PatientDriver extends SqliteDriver {
  readonly #control: TransactionControl;
  readonly #reader: SqliteDriver | null;

  constructor(config: SqliteDialectConfig, control: TransactionControl, reader: SqliteDriver | null) {
    super(config);
    this.#control = control;
    this.#reader = reader;
  }

  override async init(): Promise<void> {
    await super.init();
    await this.#reader?.init();
  }

  override async acquireConnection(): Promise<PatientConnection> {
    const takeWriter = (): ReturnType<SqliteDriver["acquireConnection"]> => super.acquireConnection();
    const read = async <Row>(query: CompiledQuery): Promise<QueryResult<Row>> => {
      const connection = await (this.#reader?.acquireConnection() ?? takeWriter());
      try {
        return await connection.executeQuery<Row>(query);
      } finally {
        await (this.#reader?.releaseConnection() ?? super.releaseConnection());
      }
    };
    return new PatientConnection({ takeWriter, read }, this.#control);
  }

  override async releaseConnection(connection?: PatientConnection): Promise<void> {
    if (connection?.hasWriter === true) await super.releaseConnection();
  }

  override async destroy(): Promise<void> {
    await this.#reader?.destroy();
    await super.destroy();
  }

  override async beginTransaction(connection: PatientConnection): Promise<void> {
    await connection.begin();
  }

  override async commitTransaction(connection: PatientConnection): Promise<void> {
    connection.commit();
  }

  override async rollbackTransaction(connection: PatientConnection): Promise<void> {
    connection.rollback();
  }
}

/**
 * Transactions take the one write lock at once, and with it the locks of all rows. A deferred one that reads first and
 * writes later fails when another connection wrote in between, and no waiting helps against that.
 */
function controlOf(database: Database.Database): TransactionControl {
  return {
    begin: () => database.exec("BEGIN IMMEDIATE"),
    commit: () => database.exec("COMMIT"),
    rollback: () => database.exec("ROLLBACK"),
    isInTransaction: () => database.inTransaction,
    isBusy: (error) => codeOf(error) === "SQLITE_BUSY",
  };
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error ? String(error.code) : null;
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

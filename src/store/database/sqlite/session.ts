// One connection to a SQLite database, and the requests it answers. libsql is synchronous and blocks its caller, so
// the session of a file runs in a separate thread (session-thread.ts). Never waits for another process's transaction,
// except briefly.
import Database from "libsql";
import type { QueryResult } from "kysely";
import { assert, unreachable } from "../../../base/domain/assert.ts";

interface PreparedStatement {
  readonly statement: Database.Statement;
  /** True if the statement returns rows. */
  readonly isReader: boolean;
}

const statementsMax = 200;
/** Other statements, such as schema changes, may invalidate a prepared one. */
const isKept = /^\s*(?:select|insert|update|delete|with)\b/i;

/** Cache of prepared statements: preparing one that writes many rows takes as long as executing it. */
class PreparedStatements {
  readonly #database: Database.Database;
  /** By text, least recently used first. */
  readonly #statements = new Map<string, PreparedStatement>();

  constructor(database: Database.Database) {
    this.#database = database;
  }

  /** @throws the driver's errors */
  get(sql: string): PreparedStatement {
    if (!isKept.test(sql)) {
      this.#statements.clear();
      return this.#prepare(sql);
    }
    const prepared = this.#statements.get(sql) ?? this.#prepare(sql);
    this.#statements.delete(sql);
    this.#statements.set(sql, prepared);
    if (this.#statements.size > statementsMax) {
      const [[oldest]] = this.#statements;
      this.#statements.delete(oldest);
    }
    return prepared;
  }

  #prepare(sql: string): PreparedStatement {
    const statement = this.#database.prepare(sql);
    return { statement, isReader: statement.reader };
  }
}

export interface SessionOptions {
  /** A path, or ":memory:". */
  readonly file: string;
  readonly isReadOnly: boolean;
}

export type SessionRequest =
  /** In the open transaction, or without one. */
  | { readonly kind: "statement"; readonly sql: string; readonly parameters: readonly unknown[] }
  /** In a separate transaction. */
  | { readonly kind: "single write"; readonly sql: string; readonly parameters: readonly unknown[] }
  /** In a separate transaction, without checking references. */
  | { readonly kind: "early write"; readonly sql: string; readonly parameters: readonly unknown[] }
  /** Takes the write lock. */
  | { readonly kind: "begin" }
  | { readonly kind: "commit" }
  /** Harmless if an error, such as a full disk, has already ended the transaction. */
  | { readonly kind: "rollback" }
  /**
   * Returns some unused pages to the file system; its only row says whether more remain. When none remain, checkpoints
   * the log, so that the last writes survive its loss or damage.
   */
  | { readonly kind: "shrink" }
  /** Rolls back uncommitted changes. */
  | { readonly kind: "close" };

/** Time that opening, and a reader, wait for another process, in milliseconds. */
const shortWaitMs = 5000;

/**
 * Maximum number of pages returned in one step, which takes about ten milliseconds, and of free pages kept for coming
 * writes.
 */
const pagesPerShrink = 1024;
const freePagesKept = 1024;
/** Size to which the log is truncated after a long transaction. */
const logBytesKept = 1 << 24;
/** Number of 4 KiB log pages after which a checkpoint runs: a page written several times is then copied once. */
const pagesPerCheckpoint = 2048;
/** Page cache of the writer; an index is written at many positions. */
const writerCacheKibibytes = 32_768;

const nothing: QueryResult<never> = { rows: [] };

/** Every method throws the driver's errors, which carry SQLite's code. */
export class SqliteSession {
  readonly #database: Database.Database;
  readonly #prepared: PreparedStatements;

  /** Uses a write-ahead log, syncs every commit to disk before it returns, and checks foreign keys. */
  constructor({ file, isReadOnly }: SessionOptions) {
    this.#database = new Database(file);
    this.#prepared = new PreparedStatements(this.#database);
    try {
      this.#run(`PRAGMA busy_timeout = ${shortWaitMs}`);
      if (isReadOnly) this.#run("PRAGMA query_only = ON");
      else this.#setUpWriter();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  #setUpWriter(): void {
    // The first pragma takes effect only in an empty database, so it precedes the second.
    for (const pragma of [
      "auto_vacuum = INCREMENTAL",
      "journal_mode = WAL",
      `journal_size_limit = ${logBytesKept}`,
      "synchronous = FULL",
      `cache_size = -${writerCacheKibibytes}`,
      `wal_autocheckpoint = ${pagesPerCheckpoint}`,
      "foreign_keys = ON",
    ])
      this.#run(`PRAGMA ${pragma}`);
    this.#run("PRAGMA busy_timeout = 0");
    // Checkpoints the log of a process that died.
    this.#foldLog();
  }

  answer(request: SessionRequest): QueryResult<unknown> {
    switch (request.kind) {
      case "statement":
        return this.#run(request.sql, request.parameters);
      case "single write":
        return this.#inTransaction(() => this.#run(request.sql, request.parameters));
      case "early write":
        return this.#withoutReferences(() =>
          this.#inTransaction(() => this.#run(request.sql, request.parameters)),
        );
      case "begin":
        return this.#control("BEGIN IMMEDIATE");
      case "commit":
        return this.#control("COMMIT");
      case "rollback":
        return this.#database.inTransaction ? this.#control("ROLLBACK") : nothing;
      case "shrink":
        return { rows: [{ hasMore: this.#shrink() }] };
      case "close":
        return this.#close();
      default:
        return unreachable(request);
    }
  }

  #control(sql: string): QueryResult<never> {
    this.#database.exec(sql);
    return nothing;
  }

  /**
   * Every write runs inside a transaction, so only `BEGIN` can meet another writer. libsql does not reset a statement
   * that met one, and the connection would continue to read from that old snapshot.
   */
  #inTransaction<Result>(work: () => Result): Result {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      if (this.#database.inTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  #withoutReferences<Result>(work: () => Result): Result {
    this.#database.exec("PRAGMA foreign_keys = OFF");
    try {
      return work();
    } finally {
      this.#database.exec("PRAGMA foreign_keys = ON");
    }
  }

  #run(sql: string, parameters: readonly unknown[] = []): QueryResult<unknown> {
    const { statement, isReader } = this.#prepared.get(sql);
    const values = checked(parameters);
    if (isReader) return { rows: statement.all(values) };
    const { changes } = statement.run(values);
    return { rows: [], numAffectedRows: BigInt(changes) };
  }

  #shrink(): boolean {
    const unusedCount = this.#number("freelist_count") - freePagesKept;
    // A file from another tool may lack this setting, and keeps its pages.
    if (unusedCount > 0 && this.#number("auto_vacuum") !== 0) {
      const pageCount = Math.min(unusedCount, pagesPerShrink);
      this.#inTransaction(() => this.#database.exec(`PRAGMA incremental_vacuum(${pageCount})`));
      if (unusedCount > pagesPerShrink) return true;
    }
    this.#database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    return false;
  }

  #number(pragma: string): number {
    // Safe cast: the pragmas used here return one row with one number.
    const row = this.#database.prepare(`PRAGMA ${pragma}`).all()[0] as Readonly<Record<string, number>>;
    return row[pragma];
  }

  #close(): QueryResult<never> {
    if (this.#database.inTransaction) this.#database.exec("ROLLBACK");
    // libsql finalizes statements only on garbage collection, which prevents SQLite's own checkpoint on close.
    this.#foldLog();
    this.#database.close();
    return nothing;
  }

  #foldLog(): void {
    try {
      this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // No disk space, or another process reads: the log stays and is read when the database is opened next.
    }
  }
}

/** Refuses parameters such as booleans, on which libsql aborts the whole process. */
function checked(parameters: readonly unknown[]): unknown[] {
  for (const value of parameters) {
    const isKnown =
      value === null || typeof value === "string" || Number.isFinite(value) || value instanceof Uint8Array;
    assert(isKnown, `a query parameter is a text, a finite number, bytes or null, not ${typeof value}`);
  }
  return [...parameters];
}

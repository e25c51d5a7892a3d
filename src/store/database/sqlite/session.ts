// A session is one connection to a SQLite database, with the requests that it answers. libsql is synchronous and blocks
// its thread, so the session of a file runs in a thread of its own (session-thread.ts). A session waits only briefly
// for another process's transaction.
import Database from "libsql";
import type { QueryResult } from "kysely";
import { assert, unreachable } from "../../../base/domain/assert.ts";

interface PreparedStatement {
  readonly statement: Database.Statement;
  /** True if the prepared statement returns rows. */
  readonly isReader: boolean;
}

const statementsMax = 200;
/**
 * Matches statements that are prepared once and cached. Other statements, such as schema changes, can make prepared
 * statements invalid, so they clear the cache.
 */
const isKept = /^\s*(?:select|insert|update|delete|with)\b/i;

/** Cache of prepared statements, because preparing a statement that writes many rows takes as long as executing it. */
class PreparedStatements {
  readonly #database: Database.Database;
  /** Prepared statements by their SQL text, the least recently used first. */
  readonly #statements = new Map<string, PreparedStatement>();

  constructor(database: Database.Database) {
    this.#database = database;
  }

  /**
   * Returns the prepared statement for an SQL text.
   *
   * @throws the driver's errors
   */
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
  /** Path of the database file, or ":memory:". */
  readonly file: string;
  readonly isReadOnly: boolean;
}

export type SessionRequest =
  /** Executes a statement, in the open transaction if there is one. */
  | { readonly kind: "statement"; readonly sql: string; readonly parameters: readonly unknown[] }
  /** Executes a statement in a transaction of its own. */
  | { readonly kind: "single write"; readonly sql: string; readonly parameters: readonly unknown[] }
  /** Executes a statement in a transaction of its own, without checking foreign keys. */
  | { readonly kind: "early write"; readonly sql: string; readonly parameters: readonly unknown[] }
  /** Begins a transaction, and takes SQLite's write lock. */
  | { readonly kind: "begin" }
  | { readonly kind: "commit" }
  /** Rolls back the transaction. Has no effect if an error, such as a full disk, has already ended it. */
  | { readonly kind: "rollback" }
  /**
   * Returns some unused pages of the file to the file system. The only row of the result says whether the file has more
   * unused pages. If it has none, checkpoints the write-ahead log, so that the last writes survive the loss of the log
   * file.
   */
  | { readonly kind: "shrink" }
  /** Closes the session. Uncommitted changes are rolled back. */
  | { readonly kind: "close" };

/**
 * Maximum time in milliseconds to wait for a lock of another process. It applies while a database is opened, and to
 * sessions that only read.
 */
const shortWaitMs = 5000;

/**
 * Maximum number of pages that one step returns to the file system, which takes about ten milliseconds. The same number
 * of unused pages stays in the file for later writes.
 */
const pagesPerShrink = 1024;
const freePagesKept = 1024;
/** Size in bytes to which the write-ahead log is truncated after a long transaction. */
const logBytesKept = 1 << 24;
/**
 * Number of 4 KiB pages in the write-ahead log after which a checkpoint runs. A checkpoint copies each page once, even
 * if the page was written several times since the last one.
 */
const pagesPerCheckpoint = 2048;
/** Size in KiB of the writer's page cache. It is large, because index entries are written at many positions. */
const writerCacheKibibytes = 32_768;

const nothing: QueryResult<never> = { rows: [] };

/** A connection to a database. Every method throws the driver's errors, which contain SQLite's code. */
export class SqliteSession {
  readonly #database: Database.Database;
  readonly #prepared: PreparedStatements;

  /**
   * Opens the database with a write-ahead log and checks of foreign keys. Every commit is synced to disk before it
   * returns.
   */
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
    // The first pragma takes effect only in an empty database, so it must precede the second.
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
    // Checkpoints the write-ahead log, which a process may have left behind when it died.
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
   * Runs work in a transaction. Every write does so, so that only `BEGIN` can fail because another process is writing.
   * If another statement failed for this reason, libsql would not reset it, and the connection would continue to read
   * the old snapshot.
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
    // If another tool created the file without this setting, its unused pages cannot be returned.
    if (unusedCount > 0 && this.#number("auto_vacuum") !== 0) {
      const pageCount = Math.min(unusedCount, pagesPerShrink);
      this.#inTransaction(() => this.#database.exec(`PRAGMA incremental_vacuum(${pageCount})`));
      if (unusedCount > pagesPerShrink) return true;
    }
    this.#database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    return false;
  }

  #number(pragma: string): number {
    // Safe cast: the pragmas that this file reads return one row with one number.
    const row = this.#database.prepare(`PRAGMA ${pragma}`).all()[0] as Readonly<Record<string, number>>;
    return row[pragma];
  }

  #close(): QueryResult<never> {
    if (this.#database.inTransaction) this.#database.exec("ROLLBACK");
    // Checkpoints the log explicitly. libsql finalizes statements only on garbage collection, which prevents SQLite's
    // own checkpoint when the database is closed.
    this.#foldLog();
    this.#database.close();
    return nothing;
  }

  #foldLog(): void {
    try {
      this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // The checkpoint fails if the disk is full or another process is reading. The log then remains, and SQLite reads
      // it when the database is opened next.
    }
  }
}

/**
 * Checks the types of statement parameters. Refuses types such as booleans, because libsql aborts the whole process on
 * them.
 */
function checked(parameters: readonly unknown[]): unknown[] {
  for (const value of parameters) {
    const isKnown =
      value === null || typeof value === "string" || Number.isFinite(value) || value instanceof Uint8Array;
    assert(isKnown, `a query parameter is a text, a finite number, bytes or null, not ${typeof value}`);
  }
  return [...parameters];
}

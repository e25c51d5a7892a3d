// One connection to a SQLite database, and all that may be asked of it. libsql is synchronous: its caller stands still
// until the answer is there, so the session of a file lives in a thread of its own (session-thread.ts). Waits for nobody.
import Database from "libsql";
import type { QueryResult } from "kysely";
import { assert, unreachable } from "../../../base/domain/assert.ts";

interface PreparedStatement {
  readonly statement: Database.Statement;
  /** Whether it answers with rows. */
  readonly isReader: boolean;
}

const statementsMax = 200;
/** What else there is, such as a change of a table, may be what a prepared one was made by. */
const isKept = /^\s*(?:select|insert|update|delete|with)\b/i;

/** The statements made last, kept prepared: to prepare one that writes many rows takes as long as to carry it out. */
class PreparedStatements {
  readonly #database: Database.Database;
  /** By their texts, the one used longest ago first. */
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
  /** In the transaction that was begun, or by itself where none was. */
  | { readonly kind: "statement"; readonly sql: string; readonly parameters: readonly unknown[] }
  /** In a transaction of its own. */
  | { readonly kind: "single write"; readonly sql: string; readonly parameters: readonly unknown[] }
  /** In a transaction of its own, and without a look for the rows that it refers to. */
  | { readonly kind: "early write"; readonly sql: string; readonly parameters: readonly unknown[] }
  /** Takes the right to write. */
  | { readonly kind: "begin" }
  | { readonly kind: "commit" }
  /** Harmless where an error has ended the transaction by itself, as a full disk does. */
  | { readonly kind: "rollback" }
  /**
   * Gives some unused pages back to the file system; the one row says whether there are more. Without more, what is in the
   * log alone goes into the file: what was written last then outlives a log that is lost or damaged.
   */
  | { readonly kind: "shrink" }
  /** Rolls back what was not committed. */
  | { readonly kind: "close" };

/** How long opening, and a reader, wait for another process, in milliseconds. */
const shortWaitMs = 5000;

/** Pages given back at once, in some ten milliseconds, and those that are kept for what is written next. */
const pagesPerShrink = 1024;
const freePagesKept = 1024;
/** The log is cut to this after a long transaction. */
const logBytesKept = 1 << 24;
/** So many pages of 4 KiB of the log go into the file at once: one that was written several times goes once. */
const pagesPerCheckpoint = 2048;
/** Of pages that the writer keeps: an index is written at many places at once. */
const writerCacheKibibytes = 32_768;

const nothing: QueryResult<never> = { rows: [] };

/** Every method throws the driver's errors, which have SQLite's code. */
export class SqliteSession {
  readonly #database: Database.Database;
  readonly #prepared: PreparedStatements;

  /** Write-ahead log, every commit on disk before it returns, foreign keys checked. */
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
    // The first one counts only before anything is in the database, so it comes before the second.
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
    // What a process that died left there.
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
   * Every write is inside a transaction, so that `BEGIN` is the only place where another writer is met: libsql does not
   * reset a statement that met one, and the connection would go on reading what was there at that time.
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
    // A file that another tool made may lack this setting, and keeps its pages.
    if (unusedCount > 0 && this.#number("auto_vacuum") !== 0) {
      const pageCount = Math.min(unusedCount, pagesPerShrink);
      this.#inTransaction(() => this.#database.exec(`PRAGMA incremental_vacuum(${pageCount})`));
      if (unusedCount > pagesPerShrink) return true;
    }
    this.#database.exec("PRAGMA wal_checkpoint(PASSIVE)");
    return false;
  }

  #number(pragma: string): number {
    // The pragmas that this is called with answer with one row of one number.
    const row = this.#database.prepare(`PRAGMA ${pragma}`).all()[0] as Readonly<Record<string, number>>;
    return row[pragma];
  }

  #close(): QueryResult<never> {
    if (this.#database.inTransaction) this.#database.exec("ROLLBACK");
    // libsql keeps statements open until they are collected, and then does not do it itself.
    this.#foldLog();
    this.#database.close();
    return nothing;
  }

  #foldLog(): void {
    try {
      this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // No room for it, or another process reads: the log stays, and is read when the database is opened next.
    }
  }
}

/** libsql aborts the whole process on a parameter it does not know, such as a boolean: refuse those here. */
function checked(parameters: readonly unknown[]): unknown[] {
  for (const value of parameters) {
    const isKnown =
      value === null || typeof value === "string" || Number.isFinite(value) || value instanceof Uint8Array;
    assert(isKnown, `a query parameter is a text, a finite number, bytes or null, not ${typeof value}`);
  }
  return [...parameters];
}

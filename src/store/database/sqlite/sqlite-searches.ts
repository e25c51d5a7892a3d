// Runs searches in a SQLite file, with one session for each lane.
import { isMainThread } from "node:worker_threads";
import Database from "libsql/promise";
import type { CompiledQuery } from "kysely";
import { LanedSearches } from "../searches/laned-searches.ts";

/**
 * Maximum number of slow searches that run at the same time, each for a different entity. Each search uses one core.
 */
const slowMax = 2;

export function sqliteSearches(file: string): LanedSearches {
  haveThreads(1 + slowMax);
  const slow = Array.from({ length: slowMax }, () => new SearchSession(file));
  return new LanedSearches({ quick: [new SearchSession(file)], slow });
}

/** Environment variable that sets the number of threads in which libsql runs asynchronous statements. */
const threadCount = "TOKIO_WORKER_THREADS";

/**
 * Makes libsql start more than `count` threads. By default, it starts one per core, and on a single core a slow query
 * would block all others. libsql reads the variable once, when the first database is opened.
 */
function haveThreads(count: number): void {
  if (isMainThread) process.env[threadCount] ??= String(count + 1);
}

/** Size in KiB of the page cache of one session. */
const cacheKibibytes = 16_384;

/**
 * Interval in milliseconds at which a search is interrupted again and again. One interrupt is not enough, because
 * SQLite ignores an interrupt before the statement has started, which may happen on a busy machine.
 */
const interruptEveryMs = 20;

/**
 * Number of statements after which a session replaces its connection. Until then, the session keeps all its statements.
 * If the garbage collector freed one during a search, SQLite would block the event loop until the search ends, so the
 * time limit of the search would have no effect.
 */
const statementsMax = 100;

/** The asynchronous interface of libsql, which its types lack. */
interface Statement {
  all(parameters: readonly unknown[]): Promise<readonly unknown[]>;
}

/**
 * A connection for reading whose statements can be interrupted. libsql's asynchronous interface runs a statement in
 * another thread only up to its first row, so the SQL is changed to collect all rows first. Closing a session waits for
 * the running statement.
 */
export class SearchSession {
  readonly #file: string;
  #opening: Promise<Database> | null = null;
  #running: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  /** All statements that were prepared on the open connection; at most `statementsMax`. */
  #statements: Statement[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Returns the rows of a query; null if it timed out. Only one query may run at a time.
   *
   * @throws Error if the session is closed
   */
  async run<Row>(query: CompiledQuery<Row>, timeMs: number): Promise<readonly Row[] | null> {
    if (this.#isClosed) throw new Error("The session for searches is closed.");
    const rows = this.#runNow(query, timeMs);
    this.#running = rows.catch(() => undefined);
    return rows;
  }

  async #runNow<Row>(
    { sql, parameters }: CompiledQuery<Row>,
    timeMs: number,
  ): Promise<readonly Row[] | null> {
    if (this.#statements.length === statementsMax) await this.#disconnect();
    const database = await (this.#opening ??= this.#open());
    // Makes SQLite collect all rows, in memory or in a temporary file, before it returns the first one.
    const prepared: Promise<Statement> = database.prepare(
      `with found as materialized (${sql}) select * from found`,
    );
    const statement = await prepared;
    this.#statements.push(statement);
    let timer = setTimeout(() => (timer = interruptRepeatedly(database)), timeMs);
    try {
      // Safe cast: the query builder defines the type of the rows.
      return (await statement.all([...parameters])) as readonly Row[];
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "SQLITE_INTERRUPT") return null;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Interrupts the running search and closes the session. Closing a closed session does nothing. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const database = await this.#opening;
    if (database === null) return;
    const timer = interruptRepeatedly(database);
    await this.#running;
    clearInterval(timer);
    await this.#disconnect();
  }

  /** Closes the connection, on which no statement may run. The next query opens another one. */
  async #disconnect(): Promise<void> {
    const database = await this.#opening;
    this.#opening = null;
    this.#statements = [];
    database?.close();
  }

  async #open(): Promise<Database> {
    const database = new Database(this.#file, {});
    for (const pragma of [
      "query_only = ON",
      "busy_timeout = 5000",
      `cache_size = -${cacheKibibytes}`,
      // Sorts in files, because sorted data may be larger than memory.
      "temp_store = FILE",
    ])
      await database.exec(`PRAGMA ${pragma}`);
    return database;
  }
}

/** Interrupts the running statement immediately and then repeatedly, until the caller clears the returned timer. */
function interruptRepeatedly(database: Database): NodeJS.Timeout {
  database.interrupt();
  return setInterval(() => database.interrupt(), interruptEveryMs);
}

// Searches of a SQLite file, with a session for each lane.
import { isMainThread } from "node:worker_threads";
import Database from "libsql/promise";
import type { CompiledQuery } from "kysely";
import { LanedSearches } from "../searches/laned-searches.ts";

/** Maximum number of concurrent slow searches, each of another entity. Each occupies a core. */
const slowMax = 2;

export function sqliteSearches(file: string): LanedSearches {
  haveThreads(1 + slowMax);
  const slow = Array.from({ length: slowMax }, () => new SearchSession(file));
  return new LanedSearches({ quick: [new SearchSession(file)], slow });
}

/** Variable that sets the number of threads in which libsql runs promises. */
const threadCount = "TOKIO_WORKER_THREADS";

/**
 * Makes libsql start at least this many threads. By default it starts one per core, and on a single core a slow query
 * would block all others. It reads the variable from the process's environment once, when the first database is
 * opened.
 */
function haveThreads(count: number): void {
  if (isMainThread) process.env[threadCount] ??= String(count + 1);
}

/** Page cache of one session. */
const cacheKibibytes = 16_384;

/**
 * Interval between interrupts. SQLite ignores an interrupt before the statement has begun, which happens on a busy
 * machine.
 */
const interruptEveryMs = 20;

/** The API of libsql's promises, which its types lack. */
interface Statement {
  all(parameters: readonly unknown[]): Promise<readonly unknown[]>;
}

/**
 * A connection that reads and can be interrupted. libsql's promises run a statement in another thread only up to its
 * first row, so the statement first collects all rows. Closing a session waits for the running statement.
 */
export class SearchSession {
  readonly #file: string;
  #opening: Promise<Database> | null = null;
  #running: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(file: string) {
    this.#file = file;
  }

  /** Returns the rows of a query; null if it timed out. One query at a time. */
  async run<Row>({ sql, parameters }: CompiledQuery<Row>, timeMs: number): Promise<readonly Row[] | null> {
    const database = await (this.#opening ??= this.#open());
    // Materializes the rows in memory or a temporary file, so that the first one arrives only after all were found.
    const prepared: Promise<Statement> = database.prepare(
      `with found as materialized (${sql}) select * from found`,
    );
    const statement = await prepared;
    let timer = setTimeout(() => (timer = interruptRepeatedly(database)), timeMs);
    const rows = statement.all([...parameters]);
    this.#running = rows.catch(() => undefined);
    try {
      // Safe cast: the query builder defines the rows.
      return (await rows) as readonly Row[];
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "SQLITE_INTERRUPT") return null;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the running search. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const database = await this.#opening;
    if (database === null) return;
    const timer = interruptRepeatedly(database);
    await this.#running;
    clearInterval(timer);
    database.close();
  }

  async #open(): Promise<Database> {
    const database = new Database(this.#file, {});
    for (const pragma of [
      "query_only = ON",
      "busy_timeout = 5000",
      `cache_size = -${cacheKibibytes}`,
      // Sorted data may be larger than memory.
      "temp_store = FILE",
    ])
      await database.exec(`PRAGMA ${pragma}`);
    return database;
  }
}

/** Interrupts immediately and then repeatedly, until the returned timer is cleared. */
function interruptRepeatedly(database: Database): NodeJS.Timeout {
  database.interrupt();
  return setInterval(() => database.interrupt(), interruptEveryMs);
}

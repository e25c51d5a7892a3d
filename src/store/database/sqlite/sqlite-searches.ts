// Searches of a SQLite file, each lane with a session of its own.
import { isMainThread } from "node:worker_threads";
import Database from "libsql/promise";
import type { CompiledQuery } from "kysely";
import { LanedSearches } from "../searches/laned-searches.ts";

/** Slow ones at once: those of two entities. Each takes a core as long as it runs. */
const slowMax = 2;

export function sqliteSearches(file: string): LanedSearches {
  haveThreads(1 + slowMax);
  const slow = Array.from({ length: slowMax }, () => new SearchSession(file));
  return new LanedSearches({ quick: [new SearchSession(file)], slow });
}

/** Sets how many threads libsql runs promises in. */
const threadCount = "TOKIO_WORKER_THREADS";

/**
 * Has libsql make at least so many: left to itself it makes one for each core, and where that is one, a slow query would
 * hold up all others. It reads the variable once, from the process's own environment, when the first database is opened.
 */
function haveThreads(count: number): void {
  if (isMainThread) process.env[threadCount] ??= String(count + 1);
}

/** Bytes of pages that one session keeps. */
const cacheKibibytes = 16_384;

/** Interval between interrupts. SQLite ignores an interrupt before the statement has begun, which happens on a busy machine. */
const interruptEveryMs = 20;

/** What libsql's promises give, which its types do not say. */
interface Statement {
  all(parameters: readonly unknown[]): Promise<readonly unknown[]>;
}

/**
 * A connection that reads and can be interrupted: libsql's promises run a statement in a thread of their own up to the first
 * row. So that all of the work is done there, a statement is asked for its rows only when it has found them all. Closing a
 * session waits for the statement that runs.
 */
export class SearchSession {
  readonly #file: string;
  #opening: Promise<Database> | null = null;
  #running: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(file: string) {
    this.#file = file;
  }

  /** The rows of a query, or null when they were not there in time. One query at a time. */
  async run<Row>({ sql, parameters }: CompiledQuery<Row>, timeMs: number): Promise<readonly Row[] | null> {
    const database = await (this.#opening ??= this.#open());
    // Rows of a table in memory or in a temporary file: the first one comes when the last one is there.
    const prepared: Promise<Statement> = database.prepare(
      `with found as materialized (${sql}) select * from found`,
    );
    const statement = await prepared;
    let timer = setTimeout(() => (timer = interruptRepeatedly(database)), timeMs);
    const rows = statement.all([...parameters]);
    this.#running = rows.catch(() => undefined);
    try {
      // What the query's builder says that its rows are.
      return (await rows) as readonly Row[];
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "SQLITE_INTERRUPT") return null;
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends what runs. Idempotent. */
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
      // What is sorted may be larger than memory.
      "temp_store = FILE",
    ])
      await database.exec(`PRAGMA ${pragma}`);
    return database;
  }
}

/** Interrupts now and then repeatedly, until the returned timer is cleared. */
function interruptRepeatedly(database: Database): NodeJS.Timeout {
  database.interrupt();
  return setInterval(() => database.interrupt(), interruptEveryMs);
}

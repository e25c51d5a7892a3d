// Driver of kysely for SQLite, with one session for writes and another for reads. If another process is
// writing, a write waits in this driver and is retried until a deadline. Meanwhile, the event loop and reads continue.
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";
import { present } from "../../../base/domain/assert.ts";
import { damagedDatabaseError } from "../../../base/domain/transient-errors/damaged-database.ts";
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { LanedSearches } from "../searches/laned-searches.ts";
import { type DataLock, takeDataLock } from "./data-lock.ts";
import type { SessionRequest } from "./session.ts";
import { openSession, type SessionLink } from "./session-link.ts";
import { Shrinking } from "./shrinking.ts";

/** Queue that admits one task at a time, in order. Waiting has no deadline, and each turn lasts until its task ends. */
class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Waits until all earlier turns have ended. Resolves to a function that ends this turn. */
  async take(): Promise<() => void> {
    const earlier = this.#last;
    let end: () => void = () => undefined;
    this.#last = new Promise((resolve) => (end = resolve));
    await earlier;
    return end;
  }
}

/**
 * Pause in milliseconds between attempts. It starts at `firstPauseMs`, doubles each time, and is at most
 * `longestPauseMs`.
 */
const firstPauseMs = 1;
const longestPauseMs = 25;
/**
 * Maximum total duration of all pauses in milliseconds. It is long enough for another process to write a submission of
 * hundreds of megabytes, which takes a few seconds.
 */
const pausesMsMax = 15_000;

/**
 * Driver with a separate session for reads, so that reads never wait for a transaction of this process or for another
 * process's lock. A database in memory has only one session, so its reads wait for writes.
 */
export class SqliteDriver implements Driver {
  readonly #file: string;
  readonly #lockFiles: Iterable<string>;
  readonly #locks: DataLock[] = [];
  readonly #writing = new Turns();
  readonly #searches: LanedSearches | null;
  readonly #shrinking = new Shrinking(() => this.#shrink());
  #writer: SessionLink | null = null;
  #reader: SessionLink | null = null;
  #damage: ServiceError | null = null;

  /**
   * @param lockFiles files that are locked while the driver is open
   * @param searches searches that are closed together with the driver
   */
  constructor(file: string, lockFiles: Iterable<string>, searches: LanedSearches | null) {
    this.#file = file;
    this.#lockFiles = lockFiles;
    this.#searches = searches;
  }

  async init(): Promise<void> {
    const file = this.#file;
    try {
      for (const path of [file, ...this.#lockFiles]) mkdirSync(dirname(path), { recursive: true });
      for (const lockFile of this.#lockFiles) this.#locks.push(takeDataLock(lockFile));
      const writer = openSession({ file, isReadOnly: false });
      // Starts the reader's thread immediately. The reader opens the file only after the writer has prepared it.
      const reader = file === ":memory:" ? null : openSession({ file, isReadOnly: true }, writer);
      // If the writer cannot open the file, only the writer's error is reported.
      void reader?.catch(() => undefined);
      this.#writer = await writer;
      this.#reader = await reader;
    } catch (error) {
      await this.destroy();
      throw error;
    }
    this.#shrinking.postpone();
  }

  /** Error of the first statement that found the database files corrupt; null if none has. */
  get damage(): ServiceError | null {
    return this.#damage;
  }

  /** Converts the error of a statement for callers. Also records the error if it reports corrupt files. */
  readonly errorOf = (error: unknown): unknown => {
    const damaged = damagedDatabaseError(error, this.#file);
    if (damaged !== null) this.#damage ??= damaged;
    return damaged ?? fullDiskError(error) ?? error;
  };

  async acquireConnection(): Promise<SqliteConnection> {
    const writer = present(this.#writer, "the open session");
    return new SqliteConnection({
      writer,
      reader: this.#reader,
      writing: this.#writing,
      errorOf: this.errorOf,
    });
  }

  async beginTransaction(connection: SqliteConnection): Promise<void> {
    await connection.begin();
  }

  async commitTransaction(connection: SqliteConnection): Promise<void> {
    await connection.commit();
  }

  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    await connection.rollback();
  }

  async releaseConnection(connection: SqliteConnection): Promise<void> {
    if (connection.release()) this.#shrinking.postpone();
  }

  /** Implements `Connection.writeEarly`: executes one statement in a transaction of its own. */
  async writeEarly(query: CompiledQuery): Promise<void> {
    const connection = await this.acquireConnection();
    try {
      await connection.writeEarly(query);
    } finally {
      await this.releaseConnection(connection);
    }
  }

  async destroy(): Promise<void> {
    this.#shrinking.stop();
    try {
      await this.#searches?.close();
      await this.#reader?.close();
      await this.#writer?.close();
    } finally {
      for (const lock of this.#locks.splice(0)) lock.release();
    }
  }

  async #shrink(): Promise<boolean> {
    const endTurn = await this.#writing.take();
    try {
      const { rows } = await present(this.#writer, "the open session").ask({ kind: "shrink" });
      // Safe cast: the session answers `shrink` with one such row.
      return (rows[0] as { readonly hasMore: boolean }).hasMore;
    } finally {
      endTurn();
    }
  }
}

interface ConnectionParts {
  readonly writer: SessionLink;
  readonly reader: SessionLink | null;
  readonly writing: Turns;
  /** Converts an error of SQLite to the error that callers of the database get. */
  readonly errorOf: (error: unknown) => unknown;
}

class SqliteConnection implements DatabaseConnection {
  readonly #writer: SessionLink;
  readonly #reader: SessionLink | null;
  readonly #writing: Turns;
  readonly #errorOf: (error: unknown) => unknown;
  /** Ends the turn in which this connection may write; null before its first write. */
  #endTurn: (() => void) | null = null;
  #isInTransaction = false;

  constructor({ writer, reader, writing, errorOf }: ConnectionParts) {
    this.#writer = writer;
    this.#reader = reader;
    this.#writing = writing;
    this.#errorOf = errorOf;
  }

  /**
   * Begins a transaction.
   *
   * @throws ServiceError `unavailable` if other processes were writing until the deadline
   */
  async begin(): Promise<void> {
    await this.#askPatiently({ kind: "begin" });
    this.#isInTransaction = true;
  }

  async commit(): Promise<void> {
    await this.#ask(this.#writer, { kind: "commit" });
    this.#isInTransaction = false;
  }

  async rollback(): Promise<void> {
    this.#isInTransaction = false;
    await this.#ask(this.#writer, { kind: "rollback" });
  }

  /**
   * Ends the use of this connection.
   *
   * @returns true if the connection may have written
   */
  release(): boolean {
    const hadTurn = this.#endTurn !== null;
    this.#endTurn?.();
    this.#endTurn = null;
    return hadTurn;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    // Safe cast: the schema defines the type of a query's rows.
    return (await this.#execute(sql, parameters)) as QueryResult<Row>;
  }

  async writeEarly({ sql, parameters }: CompiledQuery): Promise<void> {
    await this.#askPatiently({ kind: "early write", sql, parameters });
  }

  #execute(sql: string, parameters: readonly unknown[]): Promise<QueryResult<unknown>> {
    const statement = { kind: "statement", sql, parameters } as const;
    if (this.#isInTransaction) return this.#ask(this.#writer, statement);
    const isRead = /^\s*select\b/i.test(sql);
    if (isRead && this.#reader !== null) return this.#ask(this.#reader, statement);
    return this.#askPatiently(isRead ? statement : { kind: "single write", sql, parameters });
  }

  streamQuery(): never {
    throw new Error("Row streams are not supported; lists are read in pages.");
  }

  /**
   * Sends a request to the writing session while this connection has its turn to write. Retries while another process
   * is writing.
   */
  async #askPatiently(request: SessionRequest): Promise<QueryResult<unknown>> {
    this.#endTurn ??= await this.#writing.take();
    let pausesMs = 0;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        return await this.#ask(this.#writer, request);
      } catch (error) {
        if (!(error instanceof Error && "code" in error && error.code === "SQLITE_BUSY")) throw error;
        if (pausesMs >= pausesMsMax) throw tooBusy(error);
      }
      await sleep(pauseMs);
      pausesMs += pauseMs;
    }
  }

  async #ask(session: SessionLink, request: SessionRequest): Promise<QueryResult<unknown>> {
    try {
      return await session.ask(request);
    } catch (error) {
      throw this.#errorOf(error);
    }
  }
}

function tooBusy(cause: unknown): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: `The database could not be written for ${pausesMsMax / 1000} s, since another connection is writing to it. Try again.`,
    obstacle: "busy-database",
    cause,
  });
}

// How kysely reaches SQLite: one session writes, a second one reads. Who finds another connection writing waits here,
// with a deadline, and tries again; the event loop goes on, and so do reads.
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

/** Lets one in at a time, in the order they came. Has no deadline: a turn lasts until its task ends. */
class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when all earlier turns have ended; what it resolves with ends this one. */
  async take(): Promise<() => void> {
    const earlier = this.#last;
    let end: () => void = () => undefined;
    this.#last = new Promise((resolve) => (end = resolve));
    await earlier;
    return end;
  }
}

/** Pauses between tries, in milliseconds: they double up to the last, which repeats. */
const firstPauseMs = 1;
const longestPauseMs = 25;
/** All pauses together. A submission of hundreds of megabytes is written in a few seconds. */
const pausesMsMax = 15_000;

/**
 * Reads on a session of its own, so that none waits for a transaction of this process or for the lock of another. A
 * database in memory has one session for all, and its reads wait for writers.
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

  /** @param lockFiles locked as long as it is open @param searches closed with it */
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
      // Its thread starts at once; the file is as it must be when the writer has opened it.
      const reader = file === ":memory:" ? null : openSession({ file, isReadOnly: true }, writer);
      // Where the writer cannot open it, that is said, and not once more for the reader.
      void reader?.catch(() => undefined);
      this.#writer = await writer;
      this.#reader = await reader;
    } catch (error) {
      await this.destroy();
      throw error;
    }
    this.#shrinking.postpone();
  }

  /** The error of the first statement that met damage; null as far as is known. */
  get damage(): ServiceError | null {
    return this.#damage;
  }

  /** Returns the error for callers of what a statement threw, and remembers damage. */
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

  /** See `Connection.writeEarly`. */
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
      // A session answers so.
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
  /** The error for callers of one of SQLite's. */
  readonly errorOf: (error: unknown) => unknown;
}

class SqliteConnection implements DatabaseConnection {
  readonly #writer: SessionLink;
  readonly #reader: SessionLink | null;
  readonly #writing: Turns;
  readonly #errorOf: (error: unknown) => unknown;
  /** Ends this connection's turn to write; null before its first write. */
  #endTurn: (() => void) | null = null;
  #isInTransaction = false;

  constructor({ writer, reader, writing, errorOf }: ConnectionParts) {
    this.#writer = writer;
    this.#reader = reader;
    this.#writing = writing;
    this.#errorOf = errorOf;
  }

  /** @throws ServiceError `unavailable` when others wrote all the time */
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

  /** @returns whether it may have written */
  release(): boolean {
    const hadTurn = this.#endTurn !== null;
    this.#endTurn?.();
    this.#endTurn = null;
    return hadTurn;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    // The schema says what the rows of a query are.
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
    throw new Error("Streams of rows are not made use of: lists are read in pages.");
  }

  /** Asks the session that writes, in this connection's turn, until no other process is writing. */
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

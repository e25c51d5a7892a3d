// A connection that waits while another one writes, without holding the event loop: whoever writes may be in this very
// process, and could never finish if the wait did.
import { setTimeout as sleep } from "node:timers/promises";
import type { CompiledQuery, DatabaseConnection, QueryResult } from "kysely";
import { present } from "../../domain/assert.ts";
import { fullDiskError } from "../../domain/full-disk.ts";
import { ServiceError } from "../../domain/service-error.ts";

/** Pauses between tries, in milliseconds: they double up to the last, which repeats. */
const firstPauseMs = 1;
const longestPauseMs = 25;
/** All pauses together. A submission of hundreds of megabytes is written in a few seconds. */
const pausesMsMax = 15_000;

/** What begins and ends transactions; each throws at once when it cannot. */
export interface TransactionControl {
  /** Takes the right to write. */
  begin(): void;
  commit(): void;
  rollback(): void;
  /** False once an error has ended the transaction by itself, as a full disk does. */
  isInTransaction(): boolean;
  /** Whether `begin` failed only because another connection is writing. */
  isBusy(error: unknown): boolean;
}

/** Where statements go: those that write have to wait for each other, and reading waits for none of them. */
export interface Connections {
  takeWriter(): Promise<DatabaseConnection>;
  read<Row>(query: CompiledQuery): Promise<QueryResult<Row>>;
}

/**
 * Every write is inside a transaction, also one of a single statement, so that `begin` is the only place where another
 * writer is met: libsql does not reset a statement that met one, and the connection would go on reading what was there
 * at that time.
 */
export class PatientConnection implements DatabaseConnection {
  readonly #connections: Connections;
  readonly #control: TransactionControl;
  /** Held from the first write on; null until then. */
  #writer: DatabaseConnection | null = null;
  #isInTransaction = false;

  constructor(connections: Connections, control: TransactionControl) {
    this.#connections = connections;
    this.#control = control;
  }

  /** Whether the one connection that writes is to be given back. */
  get hasWriter(): boolean {
    return this.#writer !== null;
  }

  /** @throws ServiceError `unavailable` when others wrote all the time */
  async begin(): Promise<void> {
    this.#writer ??= await this.#connections.takeWriter();
    let pausesMs = 0;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        this.#control.begin();
        this.#isInTransaction = true;
        return;
      } catch (error) {
        if (!this.#control.isBusy(error)) throw named(error);
        if (pausesMs >= pausesMsMax) throw tooBusy(error);
      }
      await sleep(pauseMs);
      pausesMs += pauseMs;
    }
  }

  commit(): void {
    try {
      this.#control.commit();
    } catch (error) {
      throw named(error);
    }
    this.#isInTransaction = false;
  }

  rollback(): void {
    this.#isInTransaction = false;
    if (this.#control.isInTransaction()) this.#control.rollback();
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#isInTransaction) return await this.#execute<Row>(query);
    if (/^\s*select\b/i.test(query.sql)) return await this.#connections.read<Row>(query);
    await this.begin();
    try {
      const result = await this.#execute<Row>(query);
      this.commit();
      return result;
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  async #execute<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      return await present(this.#writer, "the connection that writes").executeQuery<Row>(query);
    } catch (error) {
      throw named(error);
    }
  }

  streamQuery<Row>(query: CompiledQuery, chunkSize?: number): AsyncIterableIterator<QueryResult<Row>> {
    return present(this.#writer, "the connection that writes").streamQuery(query, chunkSize);
  }
}

/** What a driver's error means to callers, where it is no fault of the statement. */
function named(error: unknown): unknown {
  return fullDiskError(error) ?? error;
}

function tooBusy(cause: unknown): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: `The database could not be written for ${pausesMsMax / 1000} s, since another connection is writing to it. Try again.`,
    obstacle: "busy-database",
    cause,
  });
}

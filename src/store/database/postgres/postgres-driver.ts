// Driver of kysely for PostgreSQL. Outside a transaction, each statement takes a connection from the pool. If
// that connection turns out to be lost, a read or the start of a transaction is retried once on another connection.
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";
import { assert } from "../../../base/domain/assert.ts";
import { type Clock, systemClock } from "../../../base/domain/clock.ts";
import { isUnreachable, serviceErrorOf } from "./postgres-errors.ts";
import type { PostgresPool } from "./postgres-pool.ts";

type Statement = Pick<CompiledQuery, "sql" | "parameters">;

/** The fields of a result from `pg` that the driver uses. */
export interface Answer {
  readonly rows: readonly object[];
  readonly rowCount: number | null;
  readonly command: string;
}

/** A pooled connection of `pg`, or a fake one in tests. */
export interface PooledClient {
  query(sql: string, parameters: unknown[]): Promise<Answer>;
  release(): void;
}

/** Pool from which the driver takes connections; see {@link PostgresPool}. */
export interface ClientPool extends Pick<PostgresPool, "deadlineMs" | "close"> {
  take(untilMs: number): Promise<PooledClient>;
  drop(client: PooledClient): void;
}

export class PostgresDriver implements Driver {
  readonly #pool: ClientPool;
  readonly #closeOthers: () => Promise<void>;
  readonly #clock: Pick<Clock, "monotonicMs">;

  /**
   * @param closeOthers closes other resources that belong to the database
   * @param clock clock of the pool's deadlines
   */
  constructor(
    pool: ClientPool,
    closeOthers: () => Promise<void>,
    clock: Pick<Clock, "monotonicMs"> = systemClock,
  ) {
    this.#pool = pool;
    this.#closeOthers = closeOthers;
    this.#clock = clock;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    return new PostgresConnection(this.#pool, this.#clock);
  }

  async beginTransaction(connection: PostgresConnection): Promise<void> {
    await connection.begin();
  }

  async commitTransaction(connection: PostgresConnection): Promise<void> {
    await connection.commit();
  }

  async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    await connection.rollback();
  }

  async releaseConnection(connection: PostgresConnection): Promise<void> {
    connection.release();
  }

  async destroy(): Promise<void> {
    await this.#closeOthers();
    await this.#pool.close();
  }
}

class PostgresConnection implements DatabaseConnection {
  readonly #pool: ClientPool;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** The connection in use; null before the first statement, and after the connection was lost. */
  #client: PooledClient | null = null;
  #isInTransaction = false;

  constructor(pool: ClientPool, clock: Pick<Clock, "monotonicMs">) {
    this.#pool = pool;
    this.#clock = clock;
  }

  async begin(): Promise<void> {
    await this.#askAgain({ sql: "begin", parameters: [] });
    this.#isInTransaction = true;
  }

  /**
   * Commits the transaction.
   *
   * @throws ServiceError `unavailable` if it is unknown whether the commit succeeded
   */
  async commit(): Promise<void> {
    await this.#ask({ sql: "commit", parameters: [] });
    this.#isInTransaction = false;
  }

  /** Rolls back the transaction. If the connection was lost, the database has already rolled back. */
  async rollback(): Promise<void> {
    this.#isInTransaction = false;
    if (this.#client !== null) await this.#ask({ sql: "rollback", parameters: [] });
  }

  release(): void {
    this.#client?.release();
    this.#client = null;
  }

  async executeQuery<Row>(statement: CompiledQuery): Promise<QueryResult<Row>> {
    const isRead = !this.#isInTransaction && /^\s*select\b/i.test(statement.sql);
    const { rows, rowCount, command } = await (isRead ? this.#askAgain(statement) : this.#ask(statement));
    // Safe cast: the schema defines the type of a query's rows.
    const found = rows as Row[];
    if (command === "SELECT") return { rows: found };
    return { rows: found, numAffectedRows: BigInt(rowCount ?? 0) };
  }

  streamQuery(): never {
    throw new Error("Row streams are not supported; lists are read in pages.");
  }

  async #askAgain(statement: Statement): Promise<Answer> {
    const untilMs = this.#pool.deadlineMs();
    for (;;) {
      try {
        return await this.#send(statement, untilMs);
      } catch (error) {
        if (!isUnreachable(error) || this.#clock.monotonicMs() >= untilMs) throw serviceErrorOf(error);
      }
    }
  }

  async #ask(statement: Statement): Promise<Answer> {
    try {
      return await this.#send(statement, this.#pool.deadlineMs());
    } catch (error) {
      throw serviceErrorOf(error);
    }
  }

  async #send({ sql, parameters }: Statement, untilMs: number): Promise<Answer> {
    assert(
      !this.#isInTransaction || this.#client !== null,
      "a transaction whose connection was lost is over",
    );
    this.#client ??= await this.#pool.take(untilMs);
    try {
      return await this.#client.query(sql, [...parameters]);
    } catch (error) {
      if (isUnreachable(error)) {
        this.#pool.drop(this.#client);
        this.#client = null;
      }
      throw error;
    }
  }
}

// How kysely reaches PostgreSQL. Outside of a transaction every statement has a connection of its own from the pool; what
// only reads, and what begins, is asked once more where its connection turns out to be lost.
import type { CompiledQuery, DatabaseConnection, Driver, QueryResult } from "kysely";
import type pg from "pg";
import { assert } from "../../domain/assert.ts";
import { systemClock } from "../../domain/clock.ts";
import { isAway, serviceErrorOf } from "./postgres-errors.ts";
import type { PostgresPool } from "./postgres-pool.ts";

type Statement = Pick<CompiledQuery, "sql" | "parameters">;

export class PostgresDriver implements Driver {
  readonly #pool: PostgresPool;
  readonly #closeOthers: () => Promise<void>;

  /** @param closeOthers closes what goes with it */
  constructor(pool: PostgresPool, closeOthers: () => Promise<void>) {
    this.#pool = pool;
    this.#closeOthers = closeOthers;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    return new PostgresConnection(this.#pool);
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
  readonly #pool: PostgresPool;
  /** Null before the first statement, and where it was lost. */
  #client: pg.PoolClient | null = null;
  #isInTransaction = false;

  constructor(pool: PostgresPool) {
    this.#pool = pool;
  }

  async begin(): Promise<void> {
    await this.#askAgain({ sql: "begin", parameters: [] });
    this.#isInTransaction = true;
  }

  /** @throws ServiceError `unavailable` where it is not known whether it was committed */
  async commit(): Promise<void> {
    await this.#ask({ sql: "commit", parameters: [] });
    this.#isInTransaction = false;
  }

  /** Of a connection that was lost the database has rolled back itself. */
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
    // The schema says what the rows of a query are.
    const found = rows as Row[];
    if (command === "SELECT") return { rows: found };
    return { rows: found, numAffectedRows: BigInt(rowCount ?? 0) };
  }

  streamQuery(): never {
    throw new Error("Streams of rows are not made use of: lists are read in pages.");
  }

  async #askAgain(statement: Statement): Promise<pg.QueryResult<object>> {
    const untilMs = this.#pool.deadlineMs();
    for (;;) {
      try {
        return await this.#send(statement, untilMs);
      } catch (error) {
        if (!isAway(error) || systemClock.monotonicMs() >= untilMs) throw serviceErrorOf(error);
      }
    }
  }

  async #ask(statement: Statement): Promise<pg.QueryResult<object>> {
    try {
      return await this.#send(statement, this.#pool.deadlineMs());
    } catch (error) {
      throw serviceErrorOf(error);
    }
  }

  async #send({ sql, parameters }: Statement, untilMs: number): Promise<pg.QueryResult<object>> {
    assert(
      !this.#isInTransaction || this.#client !== null,
      "a transaction whose connection was lost is over",
    );
    this.#client ??= await this.#pool.take(untilMs);
    try {
      return await this.#client.query<object>(sql, [...parameters]);
    } catch (error) {
      if (isAway(error)) {
        this.#pool.drop(this.#client);
        this.#client = null;
      }
      throw error;
    }
  }
}

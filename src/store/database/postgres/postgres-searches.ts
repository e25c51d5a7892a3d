// Runs searches on PostgreSQL, one at a time on each connection. The database cancels a search that reaches its time
// limit.
import type { CompiledQuery } from "kysely";
import type pg from "pg";
import { systemClock } from "../../../base/domain/clock.ts";
import { LanedSearches, type SearchLane } from "../searches/laned-searches.ts";
import { closedError, isUnreachable, isOutOfTime, serviceErrorOf } from "./postgres-errors.ts";
import type { PostgresPool } from "./postgres-pool.ts";

/**
 * Maximum number of searches that run at the same time: quick searches, and slow searches. Each search uses one core of
 * the database's machine.
 */
const quickMax = 3;
const slowMax = 2;
/** Maximum number of connections that searches use. */
export const searchConnections = quickMax + slowMax;

/** Time in milliseconds, beyond a search's limit, to wait for the database to cancel the search. */
const graceMs = 2000;

/** @param pool pool of {@link searchConnections} connections that is used only for searches */
export function postgresSearches(pool: PostgresPool): LanedSearches {
  return new LanedSearches({ quick: lanes(pool, quickMax), slow: lanes(pool, slowMax) });
}

function lanes(pool: PostgresPool, count: number): readonly SearchLane[] {
  return Array.from({ length: count }, () => new PostgresLane(pool));
}

/**
 * Time limit in milliseconds that was last set on each connection. The limit is set again only if the next search has a
 * different limit.
 */
const timesGiven = new WeakMap<pg.PoolClient, number>();

class PostgresLane implements SearchLane {
  readonly #pool: PostgresPool;
  #running: pg.PoolClient | null = null;
  #isClosed = false;

  constructor(pool: PostgresPool) {
    this.#pool = pool;
  }

  async run<Row>(query: CompiledQuery<Row>, timeMs: number): Promise<readonly Row[] | null> {
    const client = await this.#pool.take(systemClock.monotonicMs() + timeMs);
    this.#running = client;
    let isLost = false;
    try {
      if (this.#isClosed) throw closedError();
      return await search(client, query, timeMs);
    } catch (error) {
      isLost = isUnreachable(error);
      if (isOutOfTime(error)) return null;
      throw serviceErrorOf(error);
    } finally {
      this.#running = null;
      if (isLost) this.#pool.drop(client);
      else client.release();
    }
  }

  /** Closes this lane's connection. The database cancels the statement of a closed connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    // Closes the connection immediately, even if a search is running on it.
    void this.#running?.end();
  }
}

async function search<Row>(
  client: pg.PoolClient,
  { sql, parameters }: CompiledQuery<Row>,
  timeMs: number,
): Promise<readonly Row[]> {
  const givenMs = Math.ceil(timeMs);
  if (timesGiven.get(client) !== givenMs) {
    await client.query("select set_config('statement_timeout', $1, false)", [String(givenMs)]);
    timesGiven.set(client, givenMs);
  }
  // A separate variable avoids a type error: the types of `pg` lack `query_timeout`.
  const asked = { text: sql, values: [...parameters], query_timeout: timeMs + graceMs };
  // Safe cast: the query builder defines the type of the rows.
  return (await client.query(asked)).rows as readonly Row[];
}

// Runs one search at a time on a PostgreSQL connection; the database cancels it when its time runs out.
import type { CompiledQuery } from "kysely";
import type pg from "pg";
import { systemClock } from "../../../base/domain/clock.ts";
import { LanedSearches, type SearchLane } from "../searches/laned-searches.ts";
import { closedError, isUnreachable, isOutOfTime, serviceErrorOf } from "./postgres-errors.ts";
import type { PostgresPool } from "./postgres-pool.ts";

/** Maximum number of concurrent quick searches and slow ones. Each occupies a core of the database. */
const quickMax = 3;
const slowMax = 2;
/** Maximum number of connections for searches. */
export const searchConnections = quickMax + slowMax;

/** Extra time to wait for the database's own cancellation. */
const graceMs = 2000;

/** @param pool has this many connections, for searches only */
export function postgresSearches(pool: PostgresPool): LanedSearches {
  return new LanedSearches({ quick: lanes(pool, quickMax), slow: lanes(pool, slowMax) });
}

function lanes(pool: PostgresPool, count: number): readonly SearchLane[] {
  return Array.from({ length: count }, () => new PostgresLane(pool));
}

/** Time limit currently set on each connection, in milliseconds; updated only on change. */
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

  /** The database cancels statements whose connection is gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    // If a search runs, its connection is closed immediately.
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
  // The types of `pg` lack `query_timeout`.
  const asked = { text: sql, values: [...parameters], query_timeout: timeMs + graceMs };
  // Safe cast: the query builder defines the rows.
  return (await client.query(asked)).rows as readonly Row[];
}

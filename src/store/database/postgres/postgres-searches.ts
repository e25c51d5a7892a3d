// One search at a time of a PostgreSQL database, which ends it when its time is over.
import type { CompiledQuery } from "kysely";
import type pg from "pg";
import { systemClock } from "../../../base/domain/clock.ts";
import { LanedSearches, type SearchLane } from "../searches/laned-searches.ts";
import { closedError, isAway, isOutOfTime, serviceErrorOf } from "./postgres-errors.ts";
import type { PostgresPool } from "./postgres-pool.ts";

/** Quick ones at once, and slow ones, each of an entity. Each takes a core of the database's as long as it runs. */
const quickMax = 3;
const slowMax = 2;
/** Connections that searches have at most. */
export const searchConnections = quickMax + slowMax;

/** How much longer than the database itself somebody waits for it to end one. */
const graceMs = 2000;

/** @param pool has so many connections for searches alone */
export function postgresSearches(pool: PostgresPool): LanedSearches {
  return new LanedSearches({ quick: lanes(pool, quickMax), slow: lanes(pool, slowMax) });
}

function lanes(pool: PostgresPool, count: number): readonly SearchLane[] {
  return Array.from({ length: count }, () => new PostgresLane(pool));
}

/** The time that each connection's statements have by now, in milliseconds: it is set where that changes. */
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
      isLost = isAway(error);
      if (isOutOfTime(error)) return null;
      throw serviceErrorOf(error);
    } finally {
      this.#running = null;
      if (isLost) this.#pool.drop(client);
      else client.release();
    }
  }

  /** The database ends what runs for a connection that is gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    // Where something runs, that closes at once.
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
  // The types of `pg` do not know how long it waits for this one.
  const asked = { text: sql, values: [...parameters], query_timeout: timeMs + graceMs };
  // What the query's builder says that its rows are.
  return (await client.query(asked)).rows as readonly Row[];
}

// Connections to a PostgreSQL database: made when they are needed, kept for a while, and set up alike. Who asks while the
// database is away waits for it, with a deadline. Knows nothing of statements.
import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient, types } from "pg";
import { systemClock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { awayError, busyError, closedError, codeOf, isAway } from "./postgres-errors.ts";
import { Reach, reasonOf } from "./reach.ts";

/** Time to connect, in milliseconds. */
const connectMsMax = 5000;
/** A connection that nobody needed for so long is closed. */
const idleMs = 30_000;
/** What a statement may take; those that stores ask take milliseconds, and may wait for others. */
const statementMsMax = 120_000;
/** What a statement waits for another connection's transaction. */
const lockMsMax = 15_000;
/** A transaction whose process asks nothing any more gives back what it has locked. */
const idleTransactionMsMax = 60_000;
/** Beyond what the database itself ends: where nothing comes any more, not even that. */
const graceMs = 10_000;

/** Between tries for a connection that is refused. */
const refusedPauseMs = 50;

const oldestVersion = 15;

/** A session's settings. What was acknowledged is on disk, whatever the database does for others. */
const setUp = `select
    current_setting('server_version_num')::integer / 10000 as version,
    current_setting('server_encoding') as encoding,
    (select count(set_config(name, setting, false)) from (values
      ('statement_timeout', '${statementMsMax}'),
      ('lock_timeout', '${lockMsMax}'),
      ('idle_in_transaction_session_timeout', '${idleTransactionMsMax}'),
      ('default_transaction_isolation', 'read committed'),
      ('jit', 'off'),
      ('synchronous_commit',
        case current_setting('synchronous_commit') when 'off' then 'on' else current_setting('synchronous_commit') end)
    ) as settings (name, setting)) as count`;

export interface PoolOptions {
  /** `postgres://user:password@host:port/database`, with the parameters of libpq. */
  readonly url: string;
  /** Connections at most. */
  readonly connections: number;
  /** How long a statement waits for a database that is away, in milliseconds: 15,000 unless given. */
  readonly patienceMs?: number;
  /** Called when the database is known to be away, with why, and with null when it is back. */
  readonly onChange?: (fault: string | null) => void;
}

export class PostgresPool {
  readonly #pool: Pool;
  readonly #reach: Reach;
  readonly #patienceMs: number;
  /** Those that are set up. */
  readonly #ready = new WeakSet<PoolClient>();

  constructor({ url, connections, patienceMs = 15_000, onChange = () => undefined }: PoolOptions) {
    const config: ClientConfig = {
      connectionString: url,
      connectionTimeoutMillis: connectMsMax,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      query_timeout: statementMsMax + graceMs,
      fallback_application_name: "hone",
      types: { getTypeParser },
    };
    this.#patienceMs = patienceMs;
    this.#pool = new Pool({
      ...config,
      max: connections,
      idleTimeoutMillis: idleMs,
    });
    this.#reach = new Reach({ probe: () => probe(config), onChange });
    // One that is lost while nobody uses it leaves the pool by itself.
    this.#pool.on("error", () => this.#reach.lose());
    // One that is in use says so in what it was asked; an event that nobody hears would end the process.
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
  }

  /** Why the database cannot be reached; null where nothing says so. */
  get fault(): string | null {
    return this.#reach.fault;
  }

  /** Until when a statement that begins now waits, by the monotonic clock. */
  deadlineMs(): number {
    return systemClock.monotonicMs() + this.#patienceMs;
  }

  /**
   * A connection, which has to be given back.
   *
   * @param untilMs by the monotonic clock
   * @throws ServiceError `unavailable` where there was none in time, `unsupported` of a database that is none to work on
   */
  async take(untilMs: number): Promise<PoolClient> {
    for (;;) {
      const isThere = await this.#reach.wait(untilMs);
      if (this.#pool.ending) throw closedError();
      if (!isThere) throw awayError(this.fault ?? "it does not answer");
      try {
        return await this.#connected();
      } catch (error) {
        const isTooLate = systemClock.monotonicMs() >= untilMs;
        // Nobody gave one back.
        if (isFull(error)) {
          if (isTooLate) throw busyError(error);
          continue;
        }
        if (!isAway(error)) throw error;
        if (isTooLate) throw awayError(reasonOf(error), error);
        this.#reach.lose();
        // It may answer a single try, and have no connection left.
        await systemClock.sleep(refusedPauseMs);
      }
    }
  }

  async #connected(): Promise<PoolClient> {
    const client = await this.#pool.connect();
    if (this.#ready.has(client)) return client;
    try {
      await setUpSession(client);
    } catch (error) {
      client.release(true);
      throw error;
    }
    this.#ready.add(client);
    return client;
  }

  /** Takes back one that was lost. */
  drop(client: PoolClient): void {
    client.release(true);
    this.#reach.lose();
  }

  /** Waits for those that are in use. Idempotent. */
  async close(): Promise<void> {
    this.#reach.stop();
    if (!this.#pool.ending) await this.#pool.end();
  }
}

function isFull(error: unknown): boolean {
  return error instanceof Error && error.message === "timeout exceeded when trying to connect";
}

async function setUpSession(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ readonly version: number; readonly encoding: string }>(setUp);
  const [{ version, encoding }] = rows;
  if (version < oldestVersion) throw unusable(`It is PostgreSQL ${version}; use ${oldestVersion} or newer.`);
  if (encoding !== "UTF8")
    throw unusable(`Its texts are in ${encoding}; make one with \`create database … encoding 'UTF8'\`.`);
  try {
    // What runs for a process that is gone is ended.
    await client.query("set client_connection_check_interval = 1000");
  } catch (error) {
    // Not on every system: there it runs until its time is over.
    if (codeOf(error) !== "22023") throw error;
  }
}

function unusable(why: string): ServiceError {
  return new ServiceError({ code: "unsupported", message: `The database is none to work on. ${why}` });
}

async function probe(config: ClientConfig): Promise<void> {
  const client = new Client(config);
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("select 1");
  } finally {
    await client.end();
  }
}

/** Counts are of the type int8, and sums numeric; JSON stays a text. */
const ownParsers: ReadonlyMap<number, (value: string) => unknown> = new Map<
  number,
  (value: string) => unknown
>([
  [types.builtins.INT8, Number],
  [types.builtins.NUMERIC, Number],
  [types.builtins.JSON, String],
]);

function getTypeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown {
  const parse = ownParsers.get(oid);
  if (parse !== undefined) return parse;
  return format === "binary" ? types.getTypeParser(oid, "text") : types.getTypeParser(oid);
}

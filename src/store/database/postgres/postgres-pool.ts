// Connection pool for a PostgreSQL database. Opens connections on demand, all with the same configuration, and closes
// those that have been idle for a while. While the database cannot be reached, callers wait up to a deadline.
import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient, types } from "pg";
import { systemClock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { unreachableError, busyError, closedError, codeOf, isUnreachable } from "./postgres-errors.ts";
import { Reach, reasonOf } from "./reach.ts";

/** Time limit in milliseconds for making a connection. */
const connectMsMax = 5000;
/** Time in milliseconds after which an idle connection is closed. */
const idleMs = 30_000;
/**
 * Time limit of an SQL statement in milliseconds. Statements of the stores take a few milliseconds, besides waiting for
 * locks.
 */
const statementMsMax = 120_000;
/** Time limit in milliseconds for waiting for a lock of another transaction. */
const lockMsMax = 15_000;
/** Time in milliseconds after which the database ends an idle transaction, which releases its locks. */
const idleTransactionMsMax = 60_000;
/**
 * Time in milliseconds beyond the database's own limits. If a statement has no answer by then, it fails in this
 * process.
 */
const graceMs = 10_000;

/** Pause in milliseconds before the next attempt to connect, after the database has refused a connection. */
const refusedPauseMs = 50;

const oldestVersion = 15;

/**
 * Statement that configures a new session. Its settings replace the database's defaults; in particular, they make sure
 * that acknowledged writes are on disk.
 */
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
  /** URL in the form `postgres://user:password@host:port/database`, with the parameters of libpq. */
  readonly url: string;
  /** Maximum number of connections in the pool. */
  readonly connections: number;
  /** Time in milliseconds that a statement waits while the database cannot be reached; 15,000 by default. */
  readonly patienceMs?: number;
  /** Called with the reason when the database becomes unreachable, and with null when it is reachable again. */
  readonly onChange?: (fault: string | null) => void;
}

export class PostgresPool {
  readonly #pool: Pool;
  readonly #reach: Reach;
  readonly #patienceMs: number;
  /** Connections whose session is already configured. */
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
    // If an idle connection is lost, the pool itself removes it. This listener only reports the loss.
    this.#pool.on("error", () => this.#reach.lose());
    // If a busy connection is lost, its query fails. This listener only keeps the unhandled event from ending the
    // process.
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
  }

  /** Reason why the database cannot be reached; null if no problem is known. */
  get fault(): string | null {
    return this.#reach.fault;
  }

  /** Returns the deadline, on the monotonic clock, of a statement that starts now. */
  deadlineMs(): number {
    return systemClock.monotonicMs() + this.#patienceMs;
  }

  /**
   * Takes a connection from the pool; the caller must return it.
   *
   * @param untilMs deadline on the monotonic clock
   * @throws ServiceError `unavailable` if no connection was available in time, `unsupported` if the database cannot be
   * used
   */
  async take(untilMs: number): Promise<PoolClient> {
    for (;;) {
      const isThere = await this.#reach.wait(untilMs);
      if (this.#pool.ending) throw closedError();
      if (!isThere) throw unreachableError(this.fault ?? "it does not answer");
      try {
        return await this.#connected();
      } catch (error) {
        const isTooLate = systemClock.monotonicMs() >= untilMs;
        // A full pool means that all connections stayed in use until the timeout.
        if (isFull(error)) {
          if (isTooLate) throw busyError(error);
          continue;
        }
        if (!isUnreachable(error)) throw error;
        if (isTooLate) throw unreachableError(reasonOf(error), error);
        this.#reach.lose();
        // Waits before trying again, because a database that answers a probe may still have no free connection.
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

  /** Discards a connection that was lost, instead of returning it to the pool. */
  drop(client: PoolClient): void {
    client.release(true);
    this.#reach.lose();
  }

  /** Closes the pool once all connections in use were returned. Closing a closed pool does nothing. */
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
    // Makes the database cancel the statements of a client process that has ended.
    await client.query("set client_connection_check_interval = 1000");
  } catch (error) {
    // Not every system supports the setting. Without it, a statement of an ended client runs until its time limit.
    if (codeOf(error) !== "22023") throw error;
  }
}

function unusable(why: string): ServiceError {
  return new ServiceError({ code: "unsupported", message: `The database cannot be used. ${why}` });
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

/**
 * Parsers for values, by their type in PostgreSQL. Counts (int8) and sums (numeric) become numbers; JSON stays text.
 */
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

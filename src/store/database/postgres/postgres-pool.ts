// Connection pool for a PostgreSQL database: connections are opened on demand, kept for a while, and configured alike.
// While the database is away, callers wait for it up to a deadline. The pool knows nothing of statements.
import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient, types } from "pg";
import { systemClock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { unreachableError, busyError, closedError, codeOf, isUnreachable } from "./postgres-errors.ts";
import { Reach, reasonOf } from "./reach.ts";

/** Time to connect, in milliseconds. */
const connectMsMax = 5000;
/** Time after which an idle connection is closed. */
const idleMs = 30_000;
/** Time limit of a statement. The stores' statements take milliseconds, plus waiting for locks. */
const statementMsMax = 120_000;
/** Time limit for another transaction's lock. */
const lockMsMax = 15_000;
/** Idle time after which a transaction is ended and its locks are released. */
const idleTransactionMsMax = 60_000;
/** Extra time beyond the database's own limits before an unanswered statement fails here. */
const graceMs = 10_000;

/** Pause between connection attempts after a refusal. */
const refusedPauseMs = 50;

const oldestVersion = 15;

/** Settings of a session. They override the database's defaults, so acknowledged writes are on disk. */
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
  /** Maximum number of connections. */
  readonly connections: number;
  /** Time that a statement waits for an unreachable database, in milliseconds; 15,000 by default. */
  readonly patienceMs?: number;
  /** Receives the reason when the database becomes unreachable, and null when it is back. */
  readonly onChange?: (fault: string | null) => void;
}

export class PostgresPool {
  readonly #pool: Pool;
  readonly #reach: Reach;
  readonly #patienceMs: number;
  /** Connections that are configured. */
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
    // An idle connection that is lost removes itself from the pool.
    this.#pool.on("error", () => this.#reach.lose());
    // A busy connection reports its loss through its query; an unhandled event would end the process.
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
  }

  /** Reason why the database cannot be reached; null if no problem is known. */
  get fault(): string | null {
    return this.#reach.fault;
  }

  /** Returns the deadline of a statement that begins now, on the monotonic clock. */
  deadlineMs(): number {
    return systemClock.monotonicMs() + this.#patienceMs;
  }

  /**
   * Takes a connection, which must be returned.
   *
   * @param untilMs deadline on the monotonic clock
   * @throws ServiceError `unavailable` if none was available in time, `unsupported` if the database is unusable
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
        // No connection was returned in time.
        if (isFull(error)) {
          if (isTooLate) throw busyError(error);
          continue;
        }
        if (!isUnreachable(error)) throw error;
        if (isTooLate) throw unreachableError(reasonOf(error), error);
        this.#reach.lose();
        // The database may answer a probe and still have no free connection.
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

  /** Discards a lost connection. */
  drop(client: PoolClient): void {
    client.release(true);
    this.#reach.lose();
  }

  /** Waits for the connections in use. Idempotent. */
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
    // Cancels statements whose client process is gone.
    await client.query("set client_connection_check_interval = 1000");
  } catch (error) {
    // Not supported on every system; there a statement runs until its time limit.
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

/** Counts have the type int8 and sums numeric; JSON stays text. */
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

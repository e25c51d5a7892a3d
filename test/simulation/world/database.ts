// The database of a simulated world: SQLite in memory, which runs the stores' own SQL. Several processes use it over
// connections that may be lost at any moment, so it may be unknown whether a commit succeeded; the product's own
// PostgreSQL driver handles the errors. Transactions wait for each other; those of a dead process are rolled back
// later.
import { Kysely, sql, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import type { Connection } from "../../../src/store/database/dialect.ts";
import {
  type Answer,
  type ClientPool,
  type PooledClient,
  PostgresDriver,
} from "../../../src/store/database/postgres/postgres-driver.ts";
import { unreachableError, closedError } from "../../../src/store/database/postgres/postgres-errors.ts";
import { directSearches } from "../../../src/store/database/searches/searches.ts";
import type { Schema } from "../../../src/store/database/schema.ts";
import { SqliteSession } from "../../../src/store/database/sqlite/session.ts";
import { sqliteForm } from "../../../src/store/database/sqlite/sqlite-form.ts";
import { Announcers } from "./announcers.ts";
import { firstMoment, type SimulatedProcess } from "./process.ts";
import type { Scheduler } from "./scheduler.ts";

/** Faults of the connections to the database. */
export interface DatabaseFaults {
  /** Returns the delay of a message, in either direction, in milliseconds. */
  delayMs(): number;
  /** True if the connection is lost during this message. */
  losesConnection(): boolean;
}

/** Time limits in milliseconds, the same as in `store/database/postgres/postgres-pool`. */
const patienceMs = 15_000;
const lockMsMax = 15_000;
/** Maximum time until the database notices that a process has died, in milliseconds. */
const noticeMsMax = 2000;

/** A statement that only this database supports. */
const askTime = "select the time";

type Row = Readonly<Record<string, string | number | null>>;

interface Waiter {
  readonly client: Client;
  readonly begin: () => void;
}

export class SimulatedDatabase {
  readonly session = new SqliteSession({ file: ":memory:", isReadOnly: false });
  readonly scheduler: Scheduler;
  readonly faults: DatabaseFaults;
  readonly #clients = new Set<Client>();
  readonly #announcers: Announcers;
  /** Client whose transaction or statement is running; null if there is none. */
  #holder: Client | null = null;
  #waiting: Waiter[] = [];
  readonly #cutOff = new Set<SimulatedProcess>();
  #isAway = false;
  #aheadMs = 0;

  constructor(scheduler: Scheduler, faults: DatabaseFaults) {
    this.scheduler = scheduler;
    this.faults = faults;
    this.#announcers = new Announcers(scheduler, () => this.#isAway || faults.losesConnection());
  }

  /** Time of the database's clock: the world's time, unless the clock was set. */
  get time(): Date {
    return new Date(firstMoment + Math.floor(this.scheduler.nowMs + this.#aheadMs));
  }

  /** Sets the database's clock to be ahead of the world's by this much. */
  setClock(aheadMs: number): void {
    this.#aheadMs = aheadMs;
  }

  /** Closes all connections and refuses new ones until the database is back. Committed data survives. */
  goAway(): void {
    this.#isAway = true;
    for (const client of this.#clients) client.lose();
  }

  comeBack(): void {
    this.#isAway = false;
  }

  /** Makes the database unreachable for one process until the connection is restored. */
  cutOff(process: SimulatedProcess): void {
    this.#cutOff.add(process);
    for (const client of this.#clients) if (client.process === process) client.lose();
  }

  giveBack(process: SimulatedProcess): void {
    this.#cutOff.delete(process);
  }

  isAwayFor(process: SimulatedProcess): boolean {
    return this.#isAway || this.#cutOff.has(process);
  }

  /** Returns a connection for the stores of a process. */
  connect(process: SimulatedProcess): Connection {
    const pool = new SimulatedPool(this, process);
    process.onDeath(() => this.abandon(process));
    const queries = new Kysely<Schema>({
      dialect: {
        createAdapter: () => new SqliteAdapter(),
        createDriver: () => new PostgresDriver(pool, async () => undefined, process.clock),
        createIntrospector: (database) => new SqliteIntrospector(database),
        createQueryCompiler: () => new SqliteQueryCompiler(),
      },
    });
    return {
      queries,
      name: "simulated",
      kind: "sqlite",
      isExclusive: false,
      isMissingParent: (error) => codeOf(error) === "SQLITE_CONSTRAINT_FOREIGNKEY",
      isKeyTaken: (error) =>
        codeOf(error).startsWith("SQLITE_CONSTRAINT_") && codeOf(error) !== "SQLITE_CONSTRAINT_FOREIGNKEY",
      form: sqliteForm,
      searches: directSearches(queries),
      announcer: this.#announcers.join(process),
      fault: () => (this.isAwayFor(process) ? "it is away" : null),
      damage: () => null,
      readTime: async () => {
        const { rows } = await sql.raw<{ readonly time: number }>(askTime).execute(queries);
        return new Date(rows[0].time);
      },
      openSnapshot: () => Promise.reject(new Error("Nobody copies a simulated database.")),
      // Not needed: a transaction locks the whole database when it begins.
      lockForMigration: async () => undefined,
      writeEarly: null,
    };
  }

  open(process: SimulatedProcess): PooledClient {
    const client = new Client(this, process);
    this.#clients.add(client);
    return client;
  }

  /** Drops a dead process's waiting statements. Its clients are abandoned, and lose their locks a while later. */
  abandon(process: SimulatedProcess): void {
    for (const client of this.#clients) {
      if (client.process !== process) continue;
      this.#waiting = this.#waiting.filter((waiter) => waiter.client !== client);
      client.abandon();
    }
  }

  /** Returns the rows of a query immediately. Only for code outside the simulated world, such as checks. */
  rows(sql: string): readonly Row[] {
    // Safe cast: no queried column contains bytes.
    return this.session.answer({ kind: "statement", sql, parameters: [] }).rows as Row[];
  }

  close(): void {
    this.session.answer({ kind: "close" });
  }

  /** Waits for the lock; resolves when the client holds it, and rejects if that takes too long. */
  lock(client: Client): Promise<void> {
    if (this.#holder === null) {
      this.#holder = client;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const waiter = { client, begin: resolve };
      this.#waiting.push(waiter);
      this.scheduler.after(lockMsMax, "lock timeout", null, () => {
        if (!this.#waiting.includes(waiter)) return;
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        reject(Object.assign(new Error("canceling statement due to lock timeout"), { code: "55P03" }));
      });
    });
  }

  /** Releases the lock, and passes it to a random one of the waiting clients. */
  unlock(client: Client): void {
    if (this.#holder !== client) return;
    this.#holder = null;
    if (this.#waiting.length === 0) return;
    const [next] = this.#waiting.splice(this.scheduler.random.index(this.#waiting.length), 1);
    this.#holder = next.client;
    next.begin();
  }

  /** Rolls back a connection's transaction and removes the connection. */
  forget(client: Client): void {
    this.#clients.delete(client);
    this.#waiting = this.#waiting.filter((waiter) => waiter.client !== client);
    if (this.#holder !== client) return;
    this.session.answer({ kind: "rollback" });
    this.unlock(client);
  }
}

/** A connection with the interface of `pg`. */
class Client implements PooledClient {
  readonly #database: SimulatedDatabase;
  readonly process: SimulatedProcess;
  #isInTransaction = false;
  #isLost = false;
  /** Rejects the current operation when the connection is lost. */
  #breakOff: ((error: Error) => void) | null = null;

  constructor(database: SimulatedDatabase, process: SimulatedProcess) {
    this.#database = database;
    this.process = process;
  }

  async query(sql: string, parameters: unknown[]): Promise<Answer> {
    const { scheduler, faults } = this.#database;
    const asked = this.#ask(sql, parameters);
    const lost = new Promise<never>((_resolve, reject) => (this.#breakOff = reject));
    try {
      const answer = await Promise.race([asked, lost]);
      if (faults.losesConnection()) this.lose();
      await Promise.race([scheduler.pass(faults.delayMs(), "answer", this.process), lost]);
      if (this.#isLost) throw lostConnection();
      return answer;
    } finally {
      this.#breakOff = null;
      asked.catch(() => undefined);
      lost.catch(() => undefined);
    }
  }

  /** Closes the connection, since this file's pools keep no idle connections. */
  release(): void {
    this.#database.forget(this);
  }

  /** Simulates that the network drops the connection. */
  lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#database.scheduler.note("connection lost");
    this.#database.forget(this);
    this.#breakOff?.(lostConnection());
  }

  /** Called when the client's process has died. */
  abandon(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    const { scheduler } = this.#database;
    scheduler.after(scheduler.random.uniform() * noticeMsMax, "death noticed", null, () =>
      this.#database.forget(this),
    );
  }

  async #ask(sql: string, parameters: readonly unknown[]): Promise<Answer> {
    const database = this.#database;
    const { scheduler, faults } = database;
    await scheduler.pass(faults.delayMs(), sql, this.process);
    if (faults.losesConnection()) this.lose();
    if (this.#isLost) throw lostConnection();
    if (!this.#isInTransaction) await database.lock(this);
    if (this.#isLost) throw lostConnection();
    try {
      return this.#carryOut(sql, parameters);
    } finally {
      if (!this.#isInTransaction) database.unlock(this);
    }
  }

  #carryOut(sql: string, parameters: readonly unknown[]): Answer {
    const { session, time } = this.#database;
    if (sql === askTime) return { rows: [{ time: time.getTime() }], rowCount: 1, command: "SELECT" };
    const isControl = sql === "begin" || sql === "commit" || sql === "rollback";
    if (isControl) {
      session.answer({ kind: sql });
      this.#isInTransaction = sql === "begin";
      return { rows: [], rowCount: null, command: sql.toUpperCase() };
    }
    const { rows, numAffectedRows } = session.answer({ kind: "statement", sql, parameters });
    const isRead = /^\s*select\b/i.test(sql);
    const rowCount = numAffectedRows === undefined ? rows.length : Number(numAffectedRows);
    // Safe cast: the session's rows are objects.
    return { rows: rows as readonly object[], rowCount, command: isRead ? "SELECT" : "OTHER" };
  }
}

class SimulatedPool implements ClientPool {
  readonly #database: SimulatedDatabase;
  readonly #process: SimulatedProcess;
  #isClosed = false;

  constructor(database: SimulatedDatabase, process: SimulatedProcess) {
    this.#database = database;
    this.#process = process;
  }

  deadlineMs(): number {
    return this.#process.clock.monotonicMs() + patienceMs;
  }

  async take(untilMs: number): Promise<PooledClient> {
    const { scheduler } = this.#database;
    for (let pauseMs = 20; this.#database.isAwayFor(this.#process); pauseMs = Math.min(2 * pauseMs, 1000)) {
      if (scheduler.nowMs >= untilMs) throw unreachableError("it does not answer");
      await scheduler.pass(pauseMs, "database away", this.#process);
    }
    if (this.#isClosed) throw closedError();
    return this.#database.open(this.#process);
  }

  drop(client: PooledClient): void {
    client.release();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }
}

function lostConnection(): Error {
  return Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

// For tests: PostgreSQL in this process as the stores' database. It has one session, which transactions take in turns: what
// it shows is that the SQL is PostgreSQL's too; how locks of several sessions meet, only a real server shows.
import { PGlite } from "@electric-sql/pglite";
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from "kysely";
import type { Connection } from "../dialect.ts";
import type { Schema } from "../schema.ts";
import { directSearches } from "../searches/searches.ts";
import { Turns } from "../turns.ts";
import { postgresForm } from "./postgres-form.ts";

/** One database in memory; each call of `connect` is a connection to it. */
export interface PgliteServer {
  connect(): Connection;
  /** Deletes every row but the database's version. */
  empty(): Promise<void>;
  stop(): Promise<void>;
}

export async function startPglite(): Promise<PgliteServer> {
  const session = await PGlite.create({
    // Counts are int8 and sums numeric, which would be text.
    parsers: { 20: Number, 1700: Number },
    // Else it takes 700 MB.
    postgresqlconf: ["shared_buffers = 4MB"],
  });
  const turns = new Turns();
  const connect = (): Connection => {
    const queries = new Kysely<Schema>({
      dialect: {
        createAdapter: () => new PostgresAdapter(),
        createDriver: () => new PgliteDriver(session, turns),
        createIntrospector: (database) => new PostgresIntrospector(database),
        createQueryCompiler: () => new PostgresQueryCompiler(),
      },
    });
    const searches = directSearches(queries);
    return { queries, name: "PGlite", isExclusive: false, isMissingParent, form: postgresForm, searches };
  };
  return {
    connect,
    empty: async () => {
      const { rows } = await session.query<{ readonly name: string }>(
        "select quote_ident(tablename) as name from pg_tables where schemaname = 'public' and tablename <> 'database_version'",
      );
      // Truncating writes new files for every table, which takes ten times as long as to delete what a test has left.
      const deletions = rows.map(({ name }) => `delete from ${name};`).join("");
      await session.exec(deletions);
    },
    stop: () => session.close(),
  };
}

function isMissingParent(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "23503";
}

class PgliteDriver implements Driver {
  readonly #session: PGlite;
  readonly #turns: Turns;
  #endTurn: () => void = () => undefined;

  constructor(session: PGlite, turns: Turns) {
    this.#session = session;
    this.#turns = turns;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    this.#endTurn = await this.#turns.take();
    return {
      executeQuery: async <Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> => {
        const { rows, affectedRows } = await this.#session.query<Row>(sql, [...parameters]);
        return { rows, numAffectedRows: BigInt(affectedRows ?? 0) };
      },
      streamQuery: () => {
        throw new Error("Streams of rows are not made use of.");
      },
    };
  }

  async beginTransaction(): Promise<void> {
    await this.#session.exec("begin");
  }

  async commitTransaction(): Promise<void> {
    await this.#session.exec("commit");
  }

  async rollbackTransaction(): Promise<void> {
    await this.#session.exec("rollback");
  }

  async releaseConnection(): Promise<void> {
    this.#endTurn();
  }

  async destroy(): Promise<void> {}
}

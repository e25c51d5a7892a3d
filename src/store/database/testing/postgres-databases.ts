// For tests and benchmarks: separate databases on a PostgreSQL server. Tests use the server that `npm test` starts
// (scripts/postgres.js).
import { randomUUID } from "node:crypto";
import { Client } from "pg";

export interface PostgresDatabase {
  readonly url: string;
  /** Deletes every row except the database's version. */
  readonly empty: () => Promise<void>;
  /** Deletes the database, after disconnecting its remaining users. */
  readonly drop: () => Promise<void>;
}

const testServer = process.env["TEST_POSTGRES"] ?? "off";

/** Value for the option `skip` of tests: the reason why there is no PostgreSQL server, or false if there is one. */
export const withoutPostgres: string | false =
  testServer === "off" ? "there is no PostgreSQL: see CONTRIBUTING.md" : false;

/**
 * Creates an empty database.
 *
 * @param server URL of any database on the same PostgreSQL server
 */
export async function createPostgres(server = testServer): Promise<PostgresDatabase> {
  const name = `hone_${randomUUID().replaceAll("-", "")}`;
  await ask(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  // Reuses this connection, because a new connection first reads the catalog of every table, which takes longer than
  // emptying the tables.
  let emptying: Promise<Client> | null = null;
  return {
    url: url.href,
    empty: async () => void (await (await (emptying ??= connected(url.href))).query(emptyTables)),
    drop: async () => {
      await (await emptying)?.end();
      await ask(server, `drop database ${name} with (force)`);
    },
  };
}

/**
 * Deletes rows instead of truncating tables. Truncating would create new files for every table, and take ten times as
 * long. A table without a file never had a row.
 */
const emptyTables = `do $$ declare name text; begin
  for name in select quote_ident(relname) from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
    and relname <> 'database_version' and pg_relation_size(oid) > 0
  loop execute 'delete from ' || name; end loop;
end $$`;

async function connected(url: string): Promise<Client> {
  const client = new Client(url);
  await client.connect();
  return client;
}

async function ask(url: string, statement: string): Promise<void> {
  const client = await connected(url);
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

// For tests and measurements: databases of their own on a PostgreSQL; for tests, on the one that `npm test` starts
// (scripts/postgres.js).
import { randomUUID } from "node:crypto";
import { Client } from "pg";

export interface PostgresDatabase {
  readonly url: string;
  /** Deletes every row but the database's version. */
  readonly empty: () => Promise<void>;
  /** Ends who still uses it. */
  readonly drop: () => Promise<void>;
}

const testServer = process.env["TEST_POSTGRES"] ?? "off";

/** Why there is none; false where there is one. For `skip` of a test. */
export const withoutPostgres: string | false =
  testServer === "off" ? "there is no PostgreSQL: see CONTRIBUTING.md" : false;

/** Makes an empty database. @param server the address of any database on the same PostgreSQL */
export async function createPostgres(server = testServer): Promise<PostgresDatabase> {
  const name = `hone_${randomUUID().replaceAll("-", "")}`;
  await ask(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  // A new connection reads about every table first, which takes longer than to empty those that have something.
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
 * Truncating writes new files for every table, which takes ten times as long as to delete what a test has left. Where a table
 * has no file there was never anything in it.
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

// For tests: databases of their own on the PostgreSQL that `npm test` starts (scripts/postgres.js).
import { randomUUID } from "node:crypto";
import { Client } from "pg";

export interface PostgresDatabase {
  readonly url: string;
  /** Deletes every row but the database's version. */
  readonly empty: () => Promise<void>;
  /** Ends who still uses it. */
  readonly drop: () => Promise<void>;
}

const server = process.env["TEST_POSTGRES"] ?? "off";

/** Why there is none; false where there is one. For `skip` of a test. */
export const withoutPostgres: string | false =
  server === "off" ? "there is no PostgreSQL: see CONTRIBUTING.md" : false;

/** Makes an empty database. */
export async function createPostgres(): Promise<PostgresDatabase> {
  const name = `hone_${randomUUID().replaceAll("-", "")}`;
  await ask(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    // Truncating writes new files for every table, which takes ten times as long as to delete what a test has left.
    empty: () =>
      ask(
        url.href,
        `do $$ declare name text; begin
          for name in select quote_ident(tablename) from pg_tables where schemaname = 'public' and tablename <> 'database_version'
          loop execute 'delete from ' || name; end loop;
        end $$`,
      ),
    drop: () => ask(server, `drop database ${name} with (force)`),
  };
}

async function ask(url: string, statement: string): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

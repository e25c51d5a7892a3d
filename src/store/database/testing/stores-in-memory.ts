// For tests: the stores on a SQLite database in memory. The database answers in this thread within the caller's
// microtasks, so that a test with a fake clock sees every answer before it advances the time. Databases are emptied and
// reused, because creating their tables takes longer than most tests.
import { after } from "node:test";
import { sql } from "kysely";
import { type Clock, ownClock, systemClock } from "../../../base/domain/clock.ts";
import type { Connection } from "../dialect.ts";
import { migrate } from "../migrations/migrations.ts";
import { LocalAnnouncer } from "../pubsub/announcer.ts";
import { openSqlite } from "../sqlite/sqlite-dialect.ts";
import { type Stores, storesOn } from "../stores.ts";

/** Databases that no test is using. */
const idle: Connection[] = [];

/** Opens the stores on an empty database, which no other test uses until this test ends. */
export async function storesInMemory(clock?: Clock): Promise<Stores> {
  const stores = await storesUntilClosed(clock);
  after(() => stores.close());
  return stores;
}

/** Opens the stores on an empty database, which other tests may reuse once the stores are closed. */
export async function storesUntilClosed(clock: Clock = systemClock): Promise<Stores> {
  const connection = idle.pop() ?? (await newDatabase());
  await empty(connection);
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) idle.push(connection);
    isOpen = false;
  };
  return { ...storesOn({ ...connection, announcer: new LocalAnnouncer() }, ownClock(clock)), close };
}

async function newDatabase(): Promise<Connection> {
  const connection = openSqlite({ file: ":memory:", isShared: true });
  await migrate(connection);
  return connection;
}

/**
 * Deletes the rows of all tables. A table may refer only to tables that were created before it, so the last table comes
 * first. The statements are only ones whose prepared form the session caches.
 */
async function empty({ queries }: Connection): Promise<void> {
  const tables = sql<{ readonly name: string }>`
    select name from sqlite_master where type = 'table' and name <> 'database_version' order by rowid desc`;
  await queries.transaction().execute(async (transaction) => {
    for (const { name } of (await tables.execute(transaction)).rows)
      await sql`delete from ${sql.table(name)}`.execute(transaction);
  });
}

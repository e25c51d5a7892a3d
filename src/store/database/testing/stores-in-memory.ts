// For tests: the stores on a SQLite database in memory. The database answers in this thread within the caller's
// microtasks, so that a test with a fake clock sees every answer before it advances the time. Databases are emptied and
// reused, because creating their tables takes longer than most tests.
import { after } from "node:test";
import { sql } from "kysely";
import type { Clock } from "../../../base/domain/clock.ts";
import { LocalAnnouncer } from "../pubsub/announcer.ts";
import type { Connection } from "../dialect.ts";
import { openSqlite } from "../sqlite/sqlite-dialect.ts";
import { openStores, type Stores } from "../stores.ts";

/** Databases that no test is using. */
const idle: Connection[] = [];

/** Opens the stores on an empty database, which no other test uses until this test ends. */
export async function storesInMemory(clock?: Clock): Promise<Stores> {
  const stores = await storesUntilClosed(clock);
  after(() => stores.close());
  return stores;
}

/** Opens the stores on an empty database, which other tests may reuse once the stores are closed. */
export async function storesUntilClosed(clock?: Clock): Promise<Stores> {
  const connection = idle.pop() ?? openSqlite({ file: ":memory:", isShared: true });
  const stores = await openStores({ ...connection, announcer: new LocalAnnouncer() }, clock);
  await empty(connection);
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) idle.push(connection);
    isOpen = false;
  };
  return { ...stores, close };
}

async function empty({ queries }: Connection): Promise<void> {
  const tables = sql<{ readonly name: string }>`
    select name from sqlite_master where type = 'table' and name <> 'database_version'`;
  await queries.transaction().execute(async (transaction) => {
    await sql`pragma defer_foreign_keys = on`.execute(transaction);
    for (const { name } of (await tables.execute(transaction)).rows)
      await sql`delete from ${sql.table(name)}`.execute(transaction);
  });
}

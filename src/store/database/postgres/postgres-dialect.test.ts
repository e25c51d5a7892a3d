// Tests PostgreSQL beyond the contracts of the stores: concurrent opening, a database that goes away and returns,
// cancelled searches, and unusable databases.
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { CompiledQuery, sql } from "kysely";
import { systemClock } from "../../../base/domain/clock.ts";
import { announcedKinds } from "../../../base/domain/servers/pubsub.ts";
import { listenTo } from "../contract/servers/pubsub.ts";
import { sampleKey } from "../contract/storage-under-test.ts";
import type { Connection } from "../dialect.ts";
import { migrate, newestDatabaseVersion, readDatabaseVersion } from "../migrations/migrations.ts";
import { openStores, type Stores } from "../stores.ts";
import { cutLineTo, type CutLine } from "../testing/cut-line.ts";
import { createPostgres, withoutPostgres } from "../testing/postgres-databases.ts";
import { openPostgres } from "./postgres-dialect.ts";
import { isPostgresUrl, shownUrl } from "./postgres-url.ts";

const firstPage = { after: null, limit: 100, order: "asc" } as const;

async function emptyDatabase(t: TestContext): Promise<string> {
  const { url, drop } = await createPostgres();
  t.after(drop);
  return url;
}

function connect(t: TestContext, url: string, connections = 4): Connection {
  const connection = openPostgres({ url, connections });
  t.after(() => connection.queries.destroy());
  return connection;
}

test("shows a URL without its password and parameters", () => {
  for (const [url, shown] of [
    ["postgres://ada:secret@host:5432/hone?sslmode=require", "postgres://ada@host:5432/hone"],
    ["postgresql://ada@host/hone", "postgresql://ada@host/hone"],
    ["postgres:///hone?host=/run&password=secret", "postgres:///hone"],
    ["postgres://:secret@host/hone", "postgres://@host/hone"],
  ] as const) {
    assert.equal(isPostgresUrl(url), true);
    assert.equal(shownUrl(url), shown);
  }
  assert.equal(isPostgresUrl("file:/postgres://"), false);
});

describe("PostgreSQL", { skip: withoutPostgres }, () => {
  test("migrates an empty database once if many processes open it at the same time", async (t) => {
    const url = await emptyDatabase(t);
    const opened = await Promise.all(
      Array.from({ length: 6 }, () => openStores(openPostgres({ url, connections: 2 }))),
    );
    await Promise.all(opened.map((stores) => stores.close()));
    assert.equal((await readDatabaseVersion(connect(t, url).queries))?.version, newestDatabaseVersion);
  });

  test("keeps acknowledged writes, and overrides the database's own settings", async (t) => {
    const url = await emptyDatabase(t);
    const { queries } = connect(t, url);
    const name = new URL(url).pathname.slice(1);
    for (const [setting, value] of [
      ["synchronous_commit", "off"],
      ["default_transaction_isolation", "serializable"],
    ])
      await sql.raw(`alter database ${name} set ${setting} = '${value}'`).execute(queries);
    const { rows } = await sql<Record<string, string>>`select current_setting('synchronous_commit') as commit,
      current_setting('default_transaction_isolation') as isolation,
      current_setting('statement_timeout') as statement`.execute(connect(t, url).queries);
    assert.deepEqual(rows, [{ commit: "on", isolation: "read committed", statement: "2min" }]);
  });

  test("refuses a database with another encoding and names the cure", async (t) => {
    const url = new URL(await emptyDatabase(t));
    const { queries } = connect(t, url.href);
    const name = `${url.pathname.slice(1)}_latin`;
    await sql.raw(`create database ${name} encoding 'LATIN1' locale 'C' template template0`).execute(queries);
    url.pathname = `/${name}`;
    try {
      await assert.rejects(openStores(openPostgres({ url: url.href, connections: 1 })), {
        code: "unsupported",
        message: /LATIN1.*encoding 'UTF8'/,
      });
    } finally {
      await sql.raw(`drop database ${name} with (force)`).execute(queries);
    }
  });

  test("reports an unreachable database at the start, without the password", async (t) => {
    const url = new URL(await emptyDatabase(t));
    url.password = "secret";
    url.pathname = "/no_such_database";
    await assert.rejects(openStores(openPostgres({ url: url.href, connections: 1 })), (error: Error) => {
      assert.match(error.message, /database "no_such_database" does not exist/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  });

  test("cancels a search when its time runs out, and keeps a connection for the next", async (t) => {
    const connection = connect(t, await emptyDatabase(t));
    const { searches } = connection;
    await migrate(connection);
    const turn = (timeMs: number) => ({
      entity: "team",
      timeMs,
      endMs: systemClock.monotonicMs() + timeMs,
    });
    const endless = CompiledQuery.raw("select count(*) from generate_series(1, 1e15)", []);
    await assert.rejects(searches.run(endless, turn(150)), { code: "too_slow" });
    const found = await searches.run(CompiledQuery.raw("select 1 as one"), turn(60_000));
    assert.deepEqual(found, [{ one: 1 }]);
  });

  test("cancels running searches on close", async (t) => {
    const url = await emptyDatabase(t);
    const connection = openPostgres({ url, connections: 1 });
    const { queries, searches } = connection;
    await migrate(connection);
    const turn = { entity: "team", timeMs: 600_000, endMs: systemClock.monotonicMs() + 600_000 };
    const endless = CompiledQuery.raw("select count(*) from generate_series(1, 1e15)", []);
    const ended = assert.rejects(searches.run(endless, turn));
    const others = connect(t, url).queries;
    const searchCount = async (): Promise<number> => {
      const { rows } = await sql<{ readonly count: number }>`select count(*) as count from pg_stat_activity
        where datname = current_database() and query like '%generate_series%' and pid <> pg_backend_pid()`.execute(
        others,
      );
      return rows[0].count;
    };
    while ((await searchCount()) === 0);
    await queries.destroy();
    await ended;
    while ((await searchCount()) > 0);
  });
});

describe("PostgreSQL that goes away", { skip: withoutPostgres }, () => {
  /** Opens stores that reach the database through a proxy, whose connections the test can break. */
  async function reached(
    t: TestContext,
    patienceMs = 60_000,
  ): Promise<{
    readonly stores: Stores;
    readonly line: CutLine;
    readonly faults: readonly (string | null)[];
    readonly changed: () => Promise<void>;
  }> {
    const line = await cutLineTo(await emptyDatabase(t));
    t.after(() => line.close());
    const faults: (string | null)[] = [];
    let tell: () => void = () => undefined;
    const stores = await openStores(
      openPostgres({
        url: line.url,
        connections: 4,
        patienceMs,
        onChange: (fault) => {
          faults.push(fault);
          tell();
        },
      }),
    );
    t.after(() => stores.close());
    return { stores, line, faults, changed: () => new Promise((resolve) => (tell = resolve)) };
  }

  test("delays queries during the outage, reports the reason, and loses nothing", async (t) => {
    const { stores, line, faults, changed } = await reached(t);
    await stores.keys.create(sampleKey("before"));
    assert.equal(stores.fault(), null);
    line.cut();
    const known = changed();
    const reading = stores.keys.list(firstPage);
    const writing = stores.keys.create(sampleKey("meanwhile"));
    await known;
    assert.match(stores.fault() ?? "", /ECONN|terminated/);
    line.mend();
    await writing;
    assert.equal((await reading).items[0].id, "before");
    assert.equal(stores.fault(), null);
    assert.equal(faults.length, 2);
    assert.equal(faults[1], null);
    const { items } = await stores.keys.list(firstPage);
    assert.deepEqual(
      items.map(({ id }) => id),
      ["before", "meanwhile"],
    );
  });

  test("aborts a transaction, reports that, and leaves nothing of it", async (t) => {
    const line = await cutLineTo(await emptyDatabase(t));
    t.after(() => line.close());
    const connection = connect(t, line.url);
    const stores = await openStores({ ...connection });
    const writing = connection.queries.transaction().execute(async (transaction) => {
      await transaction.insertInto("servers").values({ id: "s", lease_until: "2026" }).execute();
      line.cut();
      await transaction.insertInto("servers").values({ id: "t", lease_until: "2026" }).execute();
    });
    await assert.rejects(writing, {
      code: "unavailable",
      obstacle: "database-away",
      retryAfterSeconds: 5,
      message: /lost before it had answered/,
    });
    line.mend();
    assert.equal(await stores.servers.has("s"), false);
  });

  test("refuses a query that waited too long, and says when to retry", async (t) => {
    const { stores, line } = await reached(t, 300);
    line.cut();
    await assert.rejects(stores.keys.create(sampleKey("k")), {
      code: "unavailable",
      obstacle: "database-away",
      retryAfterSeconds: 5,
      message: /^The database cannot be reached: .*nothing that was stored is lost/,
    });
    line.mend();
    assert.deepEqual((await stores.keys.list(firstPage)).items, []);
  });

  test("makes listeners re-check everything after the outage, and continues to announce", async (t) => {
    const { stores, line } = await reached(t);
    const { next } = listenTo(stores);
    const gap = async (): Promise<void> => {
      for (const kind of announcedKinds) assert.equal(await next(), `${kind} null`);
    };
    await gap();
    await stores.keys.create(sampleKey("k"));
    line.cut();
    line.mend();
    await gap();
    await stores.keys.revoke("k", new Date());
    assert.equal(await next(), "key-changed k");
  });

  test("closes during an outage", async (t) => {
    const { stores, line, changed } = await reached(t);
    line.cut();
    const known = changed();
    const reading = assert.rejects(stores.keys.list(firstPage), { code: "unavailable" });
    await known;
    await stores.close();
    await reading;
  });
});

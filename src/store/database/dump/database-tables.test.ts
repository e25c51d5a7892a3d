// Tests copying whole databases between all kinds of databases: every column of every table, as a consistent snapshot.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { sql } from "kysely";
import Sqlite from "libsql";
import type { Cell, DatabaseTables } from "../../../base/domain/backup/tables.ts";
import { sampleKey } from "../contract/storage-under-test.ts";
import type { Connection } from "../dialect.ts";
import { baselineVersion } from "../migrations/baseline.ts";
import { migrate, newestDatabaseVersion } from "../migrations/migrations.ts";
import { openPostgres } from "../postgres/postgres-dialect.ts";
import { openSqlite } from "../sqlite/sqlite-dialect.ts";
import { openStores } from "../stores.ts";
import { createPostgres, withoutPostgres } from "../testing/postgres-databases.ts";
import { sampleRows, type SampleTable } from "../testing/sample-rows.ts";
import { databaseTables } from "./database-tables.ts";

/**
 * Opens a connection. All connections of one place are to the same database, which is empty at first. They are closed
 * at the end of the test.
 */
type Place = () => Connection;

function closed(t: TestContext, connection: Connection): Connection {
  t.after(() => connection.queries.destroy());
  return connection;
}

async function sqlitePlace(t: TestContext): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "hone-copies-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return () => closed(t, openSqlite({ file: join(folder, "hone.db"), isShared: true }));
}

async function postgresPlace(t: TestContext): Promise<Place> {
  const { url, drop } = await createPostgres();
  t.after(drop);
  return () => closed(t, openPostgres({ url, connections: 3 }));
}

const kinds = [
  ["sqlite", sqlitePlace, false],
  ["postgres", postgresPlace, withoutPostgres],
] as const;

async function samples(t: TestContext, count: number): Promise<readonly SampleTable[]> {
  const newest = closed(t, openSqlite({ file: ":memory:", isShared: true }));
  await migrate(newest);
  return sampleRows(newest, count);
}

async function fill(tables: DatabaseTables, rows: readonly SampleTable[]): Promise<void> {
  await tables.fill(newestDatabaseVersion, async ({ insert }) => {
    for (const { of, rows: ofTable } of rows) await insert(of, ofTable);
  });
}

/** Returns all rows of a snapshot, sorted within each table. */
async function contentOf(tables: DatabaseTables): Promise<Readonly<Record<string, readonly string[]>>> {
  const snapshot = await tables.snapshot();
  try {
    const content: Record<string, readonly string[]> = {};
    for (const of of await tables.tables()) {
      const rows: (readonly Cell[])[] = [];
      for await (const page of snapshot.rows(of)) rows.push(...page);
      content[of.table] = rows.map((row) => JSON.stringify(row)).sort();
    }
    return content;
  } finally {
    await snapshot.close();
  }
}

function contentOfSamples(rows: readonly SampleTable[]): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    rows.map(({ of, rows: ofTable }) => [of.table, ofTable.map((row) => JSON.stringify(row)).sort()]),
  );
}

for (const [kind, makePlace, skip] of kinds)
  describe(kind, { skip }, () => {
    for (const [target, makeTarget, skipTarget] of kinds.filter(([target]) => target !== kind))
      test(`copies every value to ${target} unchanged`, { skip: skipTarget }, async (t) => {
        const rows = await samples(t, 4);
        const from = databaseTables((await makePlace(t))());
        await fill(from, rows);
        const expected = contentOfSamples(rows);
        assert.deepEqual(await contentOf(from), expected);
        const to = databaseTables((await makeTarget(t))());
        const snapshot = await from.snapshot();
        await to.fill(newestDatabaseVersion, async ({ insert }) => {
          for (const of of await from.tables())
            for await (const page of snapshot.rows(of)) await insert(of, page);
        });
        await snapshot.close();
        assert.deepEqual(await contentOf(to), expected);
      });

    test("takes a consistent snapshot without blocking writers", async (t) => {
      const open = await makePlace(t);
      const stores = await openStores(open());
      await stores.keys.create(sampleKey("before"));
      const tables = databaseTables(open());
      const snapshot = await tables.snapshot();
      await stores.keys.create(sampleKey("behind"));
      const keys = (await tables.tables()).find(({ table }) => table === "access_keys");
      const seen: Cell[] = [];
      for await (const page of snapshot.rows(keys!))
        seen.push(...page.map((row) => row[keys!.columns.indexOf("id")]));
      assert.deepEqual(seen, ["before"]);
      await snapshot.close();
      await snapshot.close();
      assert.equal((await contentOf(tables))["access_keys"].length, 2);
      assert.deepEqual(await snapshotFaults(tables), []);
    });

    test("reads large rows in pages of about a megabyte, and small rows many at a time", async (t) => {
      const tables = databaseTables((await makePlace(t))());
      const of = {
        table: "feedback_revisions",
        columns: ["sequence", "project_id", "id", "replaced_at", "record"],
      };
      const rowOf = (sequence: number, record: string): readonly Cell[] => [sequence, "p", "f", "", record];
      const large = "x".repeat(300_000);
      await tables.fill(newestDatabaseVersion, async ({ insert }) => {
        await insert(
          of,
          Array.from({ length: 2000 }, (_, index) => rowOf(index, "small")),
        );
        await insert(
          of,
          Array.from({ length: 20 }, (_, index) => rowOf(2000 + index, large)),
        );
      });
      const snapshot = await tables.snapshot();
      let count = 0;
      let largest = 0;
      for await (const page of snapshot.rows(of)) {
        count += page.length;
        largest = Math.max(largest, page.length);
      }
      await snapshot.close();
      assert.equal(count, 2020);
      assert.ok(largest >= 200 && largest <= 1000, String(largest));
    });

    test("leaves nothing after a failed fill, and the next one succeeds", async (t) => {
      const tables = databaseTables((await makePlace(t))());
      const rows = await samples(t, 2);
      const fault = new Error("torn off");
      await assert.rejects(
        tables.fill(newestDatabaseVersion, async ({ insert }) => {
          for (const { of, rows: ofTable } of rows.slice(0, 5)) await insert(of, ofTable);
          throw fault;
        }),
        fault,
      );
      await tables.requireEmpty(newestDatabaseVersion);
      await fill(tables, rows);
      assert.deepEqual(await contentOf(tables), contentOfSamples(rows));
    });

    test("refuses to fill a database with rows, or with tables of another version", async (t) => {
      const open = await makePlace(t);
      const stores = await openStores(open());
      const tables = databaseTables(open());
      await tables.requireEmpty(newestDatabaseVersion);
      await stores.keys.create(sampleKey("one"));
      const refusal = { code: "conflict", message: /is not empty: there are rows in its table/ };
      await assert.rejects(tables.requireEmpty(newestDatabaseVersion), refusal);
      await assert.rejects(fill(tables, []), refusal);
      const later = { code: "unsupported", message: new RegExp(`version ${newestDatabaseVersion + 1}`) };
      await assert.rejects(tables.requireEmpty(newestDatabaseVersion + 1), later);
      await assert.rejects(tables.requireEmpty(baselineVersion - 1), { code: "unsupported" });
    });

    test("names duplicate rows and dangling references", async (t) => {
      const tables = databaseTables((await makePlace(t))());
      const of = { table: "sequences", columns: ["list", "sequence"] };
      const twice = [
        ["keys", 1],
        ["keys", 2],
      ] as const;
      await assert.rejects(
        tables.fill(newestDatabaseVersion, ({ insert }) => insert(of, twice)),
        { code: "invalid", message: /rows of sequences come twice/ },
      );
      const orphan = { table: "model_scenarios", columns: ["model_id", "scenario_hash"] };
      await assert.rejects(
        tables.fill(newestDatabaseVersion, ({ insert }) => insert(orphan, [["nobody", "hash"]])),
        { code: "invalid", message: /model_scenarios refers to one that is not there/ },
      );
    });

    test("refuses to copy a database of another version, or without one", async (t) => {
      const open = await makePlace(t);
      const tables = databaseTables(open());
      await assert.rejects(tables.snapshot(), { code: "not_found" });
      await (await openStores(open())).close();
      for (const [version, message] of [
        [baselineVersion - 1, /this program needs version/],
        [newestDatabaseVersion + 1, /It was written by a newer program/],
      ] as const) {
        await sql`update database_version set version = ${version}`.execute(open().queries);
        await assert.rejects(tables.snapshot(), { code: "unsupported", message });
      }
    });
  });

async function snapshotFaults(tables: DatabaseTables): Promise<readonly string[]> {
  const snapshot = await tables.snapshot();
  try {
    return await snapshot.faults();
  } finally {
    await snapshot.close();
  }
}

test("reports dangling references in SQLite's own check", async (t) => {
  const connection = (await sqlitePlace(t))();
  const { name } = connection;
  await migrate(connection);
  const direct = new Sqlite(name);
  direct.exec("pragma foreign_keys = off; insert into model_scenarios values ('nobody', 'hash')");
  direct.close();
  assert.deepEqual(await snapshotFaults(databaseTables(connection)), [
    "1 rows of model_scenarios refer to rows of models that are not there",
  ]);
});

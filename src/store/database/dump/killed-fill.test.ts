// Tests a process that is killed while it fills a database from a copy: at the first row, midway, or just before the
// commit. None of its rows remain, and the next fill succeeds. Copies from SQLite to PostgreSQL, and in the other
// direction.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { DatabaseTables } from "../../../base/domain/backup/tables.ts";
import type { Connection } from "../dialect.ts";
import { migrate, newestDatabaseVersion } from "../migrations/migrations.ts";
import { openPostgres } from "../postgres/postgres-dialect.ts";
import { openSqlite } from "../sqlite/sqlite-dialect.ts";
import { openStores } from "../stores.ts";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { createPostgres, withoutPostgres } from "../testing/postgres-databases.ts";
import { sampleRows, type SampleTable } from "../testing/sample-rows.ts";
import { databaseTables } from "./database-tables.ts";

interface Place {
  readonly open: () => Connection;
  /** JavaScript expression with which another process opens the same database. */
  readonly opened: string;
}

function moduleAt(path: string): string {
  return `(await import(${JSON.stringify(new URL(path, import.meta.url).href)}))`;
}

async function sqlitePlace(t: TestContext): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "hone-killed-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const options = { file: join(folder, "hone.db"), isShared: true };
  return {
    open: () => openSqlite(options),
    opened: `${moduleAt("../sqlite/sqlite-dialect.js")}.openSqlite(${JSON.stringify(options)})`,
  };
}

async function postgresPlace(t: TestContext): Promise<Place> {
  const { url, drop } = await createPostgres();
  t.after(drop);
  const options = { url, connections: 2 };
  return {
    open: () => openPostgres(options),
    opened: `${moduleAt("../postgres/postgres-dialect.js")}.openPostgres(${JSON.stringify(options)})`,
  };
}

/** Fills the database in a process that kills itself after it has filled `tableCount` tables. */
async function fillAndDie(
  { opened }: Place,
  rows: readonly SampleTable[],
  tableCount: number,
): Promise<void> {
  const script = `
    const tables = ${moduleAt("./database-tables.js")}.databaseTables(${opened});
    const rows = JSON.parse(await (await import("node:stream/consumers")).text(process.stdin));
    await tables.fill(${newestDatabaseVersion}, async ({ insert }) => {
      for (const { of, rows: ofTable } of rows.slice(0, ${tableCount})) await insert(of, ofTable);
      process.kill(process.pid, "SIGKILL");
      await new Promise(() => undefined);
    });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["pipe", "inherit", "inherit"],
  });
  child.stdin.end(JSON.stringify(rows));
  const [, signal] = (await once(child, "exit")) as [number | null, string | null];
  assert.equal(signal, "SIGKILL");
}

async function countOf(tables: DatabaseTables): Promise<Readonly<Record<string, number>>> {
  const snapshot = await tables.snapshot();
  const counts: Record<string, number> = {};
  for (const of of await tables.tables()) {
    counts[of.table] = 0;
    for await (const page of snapshot.rows(of)) counts[of.table] += page.length;
  }
  await snapshot.close();
  return counts;
}

for (const [kind, makePlace, skip] of [
  ["sqlite", sqlitePlace, false],
  ["postgres", postgresPlace, withoutPostgres],
] as const)
  test(`leaves nothing when a process is killed while it fills a ${kind} database`, { skip }, async (t) => {
    const newest = openSqlite({ file: ":memory:", isShared: true });
    await migrate(newest);
    const rows = await sampleRows(newest, 2);
    await newest.queries.destroy();
    const place = await makePlace(t);
    const moments = [1, Math.floor(rows.length / 2), rows.length];
    for (const tableCount of searchedOf(moments, 1, kind)) {
      await fillAndDie(place, rows, tableCount);
      const tables = databaseTables(place.open());
      await tables.requireEmpty(newestDatabaseVersion);
      await tables.close();
    }
    const tables = databaseTables(place.open());
    await tables.fill(newestDatabaseVersion, async ({ insert }) => {
      for (const { of, rows: ofTable } of rows) await insert(of, ofTable);
    });
    assert.deepEqual(
      await countOf(tables),
      Object.fromEntries(rows.map(({ of, rows: ofTable }) => [of.table, ofTable.length])),
    );
    await tables.close();
    // A server can start on the filled database.
    await (await openStores(place.open())).close();
  });

// Tests two programs on one database. The newer program has one more migration step than the older one. If that step
// only adds to the database, the older program continues to work.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test, type TestContext } from "node:test";
import { sql } from "kysely";
import type { Connection } from "../dialect.ts";
import { insertRows } from "../insert-rows.ts";
import { openPostgres } from "../postgres/postgres-dialect.ts";
import { openSqlite } from "../sqlite/sqlite-dialect.ts";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { createPostgres, withoutPostgres } from "../testing/postgres-databases.ts";
import { sampleRows, type SampleTable } from "../testing/sample-rows.ts";
import { migrate, newestDatabaseVersion, readDatabaseVersion, servesFrom } from "./migrations.ts";
import { baselineVersion } from "./baseline.ts";
import { type Step, steps } from "./steps.ts";

type Open = () => Connection;

async function onSqlite(t: TestContext): Promise<Open> {
  const folder = mkdtempSync(join(tmpdir(), "hone-beside-"));
  const file = join(folder, "hone.db");
  const opened: Connection[] = [];
  t.after(async () => {
    for (const { queries } of opened) await queries.destroy();
    rmSync(folder, { recursive: true });
  });
  return () => {
    opened.push(openSqlite({ file, isShared: true }));
    return opened[opened.length - 1];
  };
}

async function onPostgres(t: TestContext): Promise<Open> {
  const { url, drop } = await createPostgres();
  const opened: Connection[] = [];
  t.after(async () => {
    for (const { queries } of opened) await queries.destroy();
    await drop();
  });
  return () => {
    opened.push(openPostgres({ url, connections: 1 }));
    return opened[opened.length - 1];
  };
}

const places: readonly (readonly [string, (t: TestContext) => Promise<Open>, string | false])[] = [
  ["SQLite", onSqlite, false],
  ["PostgreSQL", onPostgres, withoutPostgres],
];

/** Returns rows for every table, as a program of the given version writes them. */
async function rowsOf(version: number): Promise<readonly SampleTable[]> {
  const connection = openSqlite({ file: ":memory:", isShared: true });
  try {
    await migrate(connection, knownAt(version));
    return await sampleRows(connection, 2);
  } finally {
    await connection.queries.destroy();
  }
}

/** Returns the migration steps that a program of the given version knows. */
function knownAt(version: number): readonly Step[] {
  return steps.slice(0, version - baselineVersion);
}

/** Versions of the programs that can work on the same database as this program, newest last. */
const servableVersions = Array.from(
  { length: newestDatabaseVersion + 1 - servesFrom(newestDatabaseVersion) },
  (_, index) => servesFrom(newestDatabaseVersion) + index,
);

/** Returns a migration step with every allowed kind of addition to each table. */
const addingTo = (tables: readonly string[]): Step => ({
  adds: [
    ...tables.flatMap((table) => [
      `alter table ${table} add column later_note text`,
      `alter table ${table} add column later_count integer not null default 0`,
      `create index later_${table} on ${table} (later_count)`,
    ]),
    "create table later_marks (model_id text not null references models (id) on delete cascade, mark text not null)",
    "create unique index later_marks_once on later_marks (model_id, mark)",
  ],
});
const next = newestDatabaseVersion + 1;
const breaking: Step = ["alter table models add column later_name text not null default ''"];

test("derives the programs that can work on a database from its last breaking step", () => {
  const known: readonly Step[] = [[], () => Promise.resolve(), { adds: [] }, [], { adds: () => [] }];
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5].map((taken) => servesFrom(baselineVersion + taken, known) - baselineVersion),
    [0, 1, 2, 2, 4, 4],
  );
});

for (const [name, place, skip] of places)
  suite(`on ${name}`, { skip }, () => {
    for (const version of searchedOf(servableVersions.slice(-3), 1, name))
      test(`keeps a program of version ${version} reading and writing after steps that only add, also after a restart`, async (t) => {
        const open = await place(t);
        const samples = await rowsOf(version);
        const newer = open();
        await migrate(newer);
        await migrate(newer, [...steps, addingTo(samples.map(({ of }) => of.table))]);
        const found = { version: next, servesFrom: servesFrom(newestDatabaseVersion) };
        assert.deepEqual(await readDatabaseVersion(newer.queries), found);
        const older = open();
        await migrate(older, knownAt(version));
        assert.deepEqual(await readDatabaseVersion(older.queries), found, "it stays as it is");
        await older.queries.transaction().execute(async (transaction) => {
          for (const { of, rows } of samples)
            assert.equal(
              await insertRows(transaction, of.table as "models", of.columns as never[], rows),
              rows.length,
              of.table,
            );
        });
        // If an older program deletes a model, the data that newer programs keep for the model is deleted, too.
        await sql`insert into later_marks values ('models 1', 'a')`.execute(newer.queries);
        for (const { of } of samples.toReversed())
          await sql`delete from ${sql.table(of.table)}`.execute(older.queries);
        const { rows: left } = await sql`select * from later_marks`.execute(newer.queries);
        assert.deepEqual(left, []);
      });

    test("migrates an older database by the steps after its version, and keeps its rows", async (t) => {
      const open = await place(t);
      const older = open();
      await migrate(older);
      await sql`insert into sequences values ('models', 4)`.execute(older.queries);
      const double: Step = async (transaction) =>
        void (await sql`update sequences set sequence = sequence * later_factor`.execute(transaction));
      const widened: Step = ["alter table sequences add column later_factor integer not null default 2"];
      const newest = [...steps, widened, double];
      await migrate(open(), [...steps, widened]);
      for (let times = 0; times < 2; times++) await migrate(open(), newest);
      const { rows } = await sql`select sequence, later_factor from sequences`.execute(older.queries);
      assert.deepEqual(rows, [{ sequence: 8, later_factor: 2 }]);
      assert.deepEqual(await readDatabaseVersion(older.queries), { version: next + 1, servesFrom: next + 1 });
    });

    test("applies every step to a new database after the baseline", async (t) => {
      const { queries, ...connection } = (await place(t))();
      await migrate({ queries, ...connection }, [...steps, breaking]);
      const { rows } = await sql`select later_name from models`.execute(queries);
      assert.deepEqual(rows, []);
      assert.deepEqual(await readDatabaseVersion(queries), { version: next, servesFrom: next });
    });

    test("refuses a database older than the baseline, names the cure, and leaves it unchanged", async (t) => {
      const open = await place(t);
      const { queries } = open();
      await sql`create table database_version (version integer not null)`.execute(queries);
      await sql`insert into database_version values (${baselineVersion - 1})`.execute(queries);
      const message = new RegExp(
        `has version ${baselineVersion - 1}, .* needs version ${baselineVersion} .* Export .* empty data folder`,
      );
      for (let times = 0; times < 2; times++)
        await assert.rejects(migrate(open()), { code: "unsupported", message });
      const { rows } = await sql`select * from database_version`.execute(queries);
      assert.deepEqual(rows, [{ version: baselineVersion - 1 }]);
    });

    test("refuses an older program after a breaking step, even if later steps only add", async (t) => {
      const open = await place(t);
      const newer = open();
      await migrate(newer);
      await migrate(newer, [...steps, breaking]);
      const refusal = { code: "unsupported", message: /knows only up to/ };
      await assert.rejects(migrate(open()), refusal);
      await migrate(newer, [...steps, breaking, { adds: [] }]);
      assert.deepEqual(await readDatabaseVersion(newer.queries), { version: next + 1, servesFrom: next });
      await assert.rejects(migrate(open()), refusal);
    });

    test("refuses a step that claims to only add but does more", async (t) => {
      const open = await place(t);
      const lying: Step = { adds: ["create table later (id text)", "drop table rule_notes"] };
      await assert.rejects(migrate(open(), [...steps, lying]), /only adds.*drop table rule_notes/);
      assert.equal(await readDatabaseVersion(open().queries), null, "nothing of it is left");
    });
  });

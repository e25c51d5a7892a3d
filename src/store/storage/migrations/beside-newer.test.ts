// Programs of which one knows a step more than the other, on one database: the older one works on where that step only adds.
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
import { createPostgres, withoutPostgres } from "../testing/postgres-databases.ts";
import { sampleRows, type SampleTable } from "../testing/sample-rows.ts";
import { migrate, newestDatabaseVersion, readDatabaseVersion, servesFrom } from "./migrations.ts";
import { type Step, steps } from "./steps/steps.ts";

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

/** Rows for every table, as a program that knows this version writes them. */
async function rowsOf(version: number): Promise<readonly SampleTable[]> {
  const [today, then] = [steps, steps.slice(0, version - 1)].map((known) => ({
    known,
    connection: openSqlite({ file: ":memory:", isShared: true }),
  }));
  try {
    for (const { connection, known } of [today, then]) await migrate(connection, known);
    const found: SampleTable[] = [];
    for (const { of, rows } of await sampleRows(today.connection, 2)) {
      const { rows: columns } = await sql<{
        readonly name: string;
      }>`select name from pragma_table_info(${of.table})`.execute(then.connection.queries);
      const places = of.columns.flatMap((column, place) =>
        columns.some(({ name }) => name === column) ? [place] : [],
      );
      const chosen = <Value>(values: readonly Value[]): readonly Value[] => places.map((at) => values[at]);
      if (places.length > 0)
        found.push({ of: { table: of.table, columns: chosen(of.columns) }, rows: rows.map(chosen) });
    }
    return found;
  } finally {
    for (const { connection } of [today, then]) await connection.queries.destroy();
  }
}

/** Those that programs may know which work beside this one, the newest last. */
const servableVersions = Array.from(
  { length: newestDatabaseVersion + 1 - servesFrom(newestDatabaseVersion) },
  (_, index) => servesFrom(newestDatabaseVersion) + index,
);

/** A step that adds what may be added, to every table. */
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

test("which programs work on a database follows from its last step that did more than add", () => {
  const known: readonly Step[] = [[], () => Promise.resolve(), { adds: [] }, [], { adds: () => [] }];
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6].map((version) => servesFrom(version, known)),
    [1, 2, 3, 3, 5, 5],
  );
});

for (const [name, place, skip] of places)
  suite(`on ${name}`, { skip }, () => {
    for (const version of servableVersions.slice(-3))
      test(`steps that only add leave a program of version ${version} what it reads and writes, also at a new start`, async (t) => {
        const open = await place(t);
        const samples = await rowsOf(version);
        const newer = open();
        await migrate(newer);
        await migrate(newer, [...steps, addingTo(samples.map(({ of }) => of.table))]);
        const found = { version: next, servesFrom: servesFrom(newestDatabaseVersion) };
        assert.deepEqual(await readDatabaseVersion(newer.queries), found);
        const older = open();
        await migrate(older, steps.slice(0, version - 1));
        assert.deepEqual(await readDatabaseVersion(older.queries), found, "it stays as it is");
        await older.queries.transaction().execute(async (transaction) => {
          for (const { of, rows } of samples)
            assert.equal(
              await insertRows(transaction, of.table as "models", of.columns as never[], rows),
              rows.length,
              of.table,
            );
        });
        // What newer programs have of a model goes with it.
        await sql`insert into later_marks values ('models 1', 'a')`.execute(newer.queries);
        for (const { of } of samples.toReversed())
          await sql`delete from ${sql.table(of.table)}`.execute(older.queries);
        const { rows: left } = await sql`select * from later_marks`.execute(newer.queries);
        assert.deepEqual(left, []);
      });

    test("a step that does more is refused to an older program, whatever was added later", async (t) => {
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

    test("a step that says that it only adds, and does more, is taken by nobody", async (t) => {
      const open = await place(t);
      const lying: Step = { adds: ["create table later (id text)", "drop table rule_notes"] };
      await assert.rejects(migrate(open(), [...steps, lying]), /only adds.*drop table rule_notes/);
      assert.equal(await readDatabaseVersion(open().queries), null, "nothing of it is left");
    });
  });

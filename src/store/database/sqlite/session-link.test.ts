// Tests the link to a session's thread: the contract that every link must pass, and that it neither blocks nor outlives
// its process.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { openSession, type SessionLink } from "./session-link.ts";

function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-session-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const inFile = (t: TestContext): string => join(temporaryFolder(t), "hone.db");
const inMemory = (): string => ":memory:";

async function openWriter(t: TestContext, file: string): Promise<SessionLink> {
  const link = await openSession({ file, isReadOnly: false });
  t.after(() => link.close());
  return link;
}

const write = (sql: string, ...parameters: readonly unknown[]) =>
  ({ kind: "single write", sql, parameters }) as const;
const read = (sql: string, ...parameters: readonly unknown[]) =>
  ({ kind: "statement", sql, parameters }) as const;

for (const [name, makeFile] of [
  ["a file", inFile],
  ["memory", inMemory],
] as const) {
  describe(`a session of ${name}`, () => {
    test("answers in order, and reports the number of rows a write changed", async (t) => {
      const link = await openWriter(t, makeFile(t));
      await link.ask(write("create table t (a integer primary key, b text)"));
      const answers = await Promise.all([
        link.ask(write("insert into t values (1, ?), (2, ?)", "é", null)),
        link.ask(read("select * from t order by a")),
        link.ask(write("delete from t")),
        link.ask(read("select count(*) as count from t")),
      ]);
      assert.deepEqual(
        answers.map(({ rows, numAffectedRows }) => rows[0] ?? numAffectedRows),
        [2n, { a: 1, b: "é" }, 2n, { count: 0 }],
      );
    });

    test("reports SQLite's error code, keeps nothing of a failed write, and continues", async (t) => {
      const link = await openWriter(t, makeFile(t));
      await link.ask(write("create table t (a integer primary key check (a > 0))"));
      const refused = { code: "SQLITE_CONSTRAINT_CHECK" };
      await assert.rejects(link.ask(write("insert into t values (1), (0)")), refused);
      await link.ask({ kind: "begin" });
      await link.ask(read("insert into t values (2)"));
      await assert.rejects(link.ask(read("insert into t values (-1)")), refused);
      await link.ask({ kind: "rollback" });
      // Rolling back without a transaction is no error.
      await link.ask({ kind: "rollback" });
      await assert.rejects(
        link.ask(write("insert into t values (?)", true)),
        /a text, a finite number, bytes or null/,
      );
      assert.deepEqual((await link.ask(read("select * from t"))).rows, []);
    });

    test("closes after all earlier requests, and answers none after", async (t) => {
      const link = await openWriter(t, makeFile(t));
      const asked = link.ask(write("create table t (a)"));
      await Promise.all([link.close(), link.close(), asked]);
      await assert.rejects(link.ask(read("select 1")));
    });
  });
}

test("keeps the event loop running while a session works on a file", async (t) => {
  const link = await openWriter(t, inFile(t));
  const counting = "with recursive n (i) as (select 1 union all select i + 1 from n where i < 1000000)";
  let isAnswered = false;
  const asked = link
    .ask(read(`${counting} select count(*) as count from n`))
    .finally(() => (isAnswered = true));
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isAnswered, false);
  assert.deepEqual((await asked).rows, [{ count: 1_000_000 }]);
});

test("refuses writes on a read-only session", async (t) => {
  const file = inFile(t);
  await (await openWriter(t, file)).ask(write("create table t (a)"));
  const reader = await openSession({ file, isReadOnly: true });
  t.after(() => reader.close());
  await assert.rejects(reader.ask(write("insert into t values (1)")), { code: "SQLITE_READONLY" });
});

test("refuses a file that is not a database, and ends its thread", async (t) => {
  const file = inFile(t);
  writeFileSync(file, "no database ".repeat(1000));
  await assert.rejects(openSession({ file, isReadOnly: false }), { code: "SQLITE_NOTADB" });
});

test("lets the process end while an idle session is open", async (t) => {
  const script = `
    const { openSession } = await import(${JSON.stringify(new URL("./session-link.js", import.meta.url).href)});
    const link = await openSession({ file: ${JSON.stringify(inFile(t))}, isReadOnly: false });
    await link.ask({ kind: "single write", sql: "create table t (a)", parameters: [] });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "inherit" });
  assert.deepEqual(await once(child, "exit"), [0, null]);
});

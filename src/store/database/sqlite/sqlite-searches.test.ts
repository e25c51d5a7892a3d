// Tests searches in a SQLite file. The database cancels searches whose time runs out, and searches of one entity do not
// block those of another entity.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CompiledQuery } from "kysely";
import { systemClock } from "../../../base/domain/clock.ts";
import { openSession } from "./session-link.ts";
import type { LanedSearches } from "../searches/laned-searches.ts";
import type { SearchTurn } from "../searches/searches.ts";
import { SearchSession } from "./sqlite-searches.ts";
import { sqliteSearches } from "./sqlite-searches.ts";

async function tableFile(t: TestContext): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "hone-searches-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "hone.db");
  const writer = await openSession({ file, isReadOnly: false });
  await writer.ask({ kind: "single write", sql: "create table t (a integer)", parameters: [] });
  await writer.ask({ kind: "single write", sql: "insert into t values (1), (2)", parameters: [] });
  await writer.close();
  return file;
}

async function openSearches(t: TestContext): Promise<LanedSearches> {
  const searches = sqliteSearches(await tableFile(t));
  t.after(() => searches.close());
  return searches;
}

const within = (entity: string, timeMs: number): SearchTurn => ({
  entity,
  timeMs,
  endMs: systemClock.monotonicMs() + timeMs,
});
const longMs = 600_000;
const quick = CompiledQuery.raw("select a from t where a >= ? order by a", [1]);
/** A query that would count for days. */
const endless = CompiledQuery.raw(
  "with recursive n (i) as (select 1 union all select i + 1 from n where i < 1e15) select count(*) as c from n",
  [],
);

test("returns rows, and continues after an error", async (t) => {
  const searches = await openSearches(t);
  assert.deepEqual(await searches.run(quick, within("a", longMs)), [{ a: 1 }, { a: 2 }]);
  const wrong = CompiledQuery.raw("select 1 from t where no_such_column = 1", []);
  await assert.rejects(searches.run(wrong, within("a", longMs)), /no_such_column/);
  assert.equal((await searches.run(quick, within("a", longMs))).length, 2);
});

test("cancels a search when its time runs out, names the cure, and frees the session", async (t) => {
  const searches = await openSearches(t);
  for (let count = 0; count < 3; count++)
    await assert.rejects(searches.run(endless, within("a", 150)), {
      code: "too_slow",
      message: /longer than 0\.15 s .*Narrow it/,
    });
  assert.equal((await searches.run(quick, within("a", longMs))).length, 2);
});

test("cancels a search whose time ran out before it began", { timeout: 60_000 }, async (t) => {
  const file = await tableFile(t);
  sqliteSearches(file);
  // Uses one session more than libsql has threads. The last session must therefore wait until another session's thread
  // is free.
  const threadCount = Number(process.env["TOKIO_WORKER_THREADS"]);
  const sessions = Array.from({ length: threadCount + 1 }, () => new SearchSession(file));
  for (const session of sessions) assert.equal((await session.run(quick, longMs))?.length, 2);
  const late = sessions.pop();
  const others = sessions.map((session) => session.run(endless, 500));
  assert.equal(await late?.run(endless, 20), null);
  assert.deepEqual(
    await Promise.all(others),
    others.map(() => null),
  );
  for (const session of [...sessions, late]) await session?.close();
});

test("keeps the event loop running while the garbage collector frees earlier statements", async (t) => {
  setFlagsFromString("--expose-gc");
  // Safe cast: the flag adds this function to new contexts.
  const collectGarbage = runInNewContext("gc") as () => void;
  const session = new SearchSession(await tableFile(t));
  t.after(() => session.close());
  const long = CompiledQuery.raw(
    "with recursive n (i) as (select 1 union all select i + 1 from n where i < 3e6) select count(*) as c from n",
    [],
  );
  for (let count = 0; count < 10; count++) await session.run(quick, longMs);
  let turns = 0;
  const collecting = setInterval(() => {
    if (turns++ < 5) collectGarbage();
  }, 5);
  assert.deepEqual(await session.run(long, longMs), [{ c: 3e6 }]);
  clearInterval(collecting);
  assert.ok(turns >= 7, `the event loop ran ${turns} times`);
});

test("opens another connection after a limited number of searches", async (t) => {
  const session = new SearchSession(await tableFile(t));
  for (let count = 0; count < 250; count++) assert.equal((await session.run(quick, longMs))?.length, 2);
  assert.equal(await session.run(endless, 20), null);
  await session.close();
  await assert.rejects(session.run(quick, longMs), /closed/);
});

test("lets an entity's slow searches block neither its quick ones nor another entity's slow ones", async (t) => {
  const searches = await openSearches(t);
  const ended: Promise<unknown>[] = [];
  // These searches would time out only long after all searches are closed.
  for (let count = 0; count < 4; count++)
    ended.push(searches.run(endless, within("a", longMs)).catch((error: unknown) => error));
  for (let count = 0; count < 5; count++) {
    assert.equal((await searches.run(quick, within("a", longMs))).length, 2);
    assert.equal((await searches.run(quick, within("b", longMs))).length, 2);
  }
  // The timeout proves that this search runs, because a waiting search would not be cancelled by then.
  await assert.rejects(searches.run(endless, within("b", 300)), { code: "too_slow" });
  await searches.close();
  for (const error of await Promise.all(ended)) assert.ok(error instanceof Error);
});

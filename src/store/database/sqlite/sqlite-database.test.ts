// Tests what is specific to SQLite: the lock, the versions, and recovery after a process was killed.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { sql } from "kysely";
import Sqlite from "libsql";
import { allItems } from "../../../base/domain/page.ts";
import {
  firstPage,
  moment,
  rescueNow,
  storeModel,
  storeServer,
  groupLines,
  sampleGroup,
  sampleFeedback,
  sampleJob,
  sampleKey,
  sampleModel,
  sampleVersion,
} from "../contract/storage-under-test.ts";
import { databaseTables } from "../dump/database-tables.ts";
import { damagePagesOf } from "../testing/damage-page.ts";
import { always } from "../../../base/domain/feedback-query/condition.ts";
import { openStores, type Stores } from "../stores.ts";
import { createJobStore } from "../jobs/job-store.ts";
import { createOutbox } from "../webhooks/outbox.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { createKeyStore } from "../keys/key-store.ts";
import { migrate, newestDatabaseVersion } from "../migrations/migrations.ts";
import { createModelStore } from "../models/model-store.ts";
import { openSqlite, type SqliteOptions } from "./sqlite-dialect.ts";

function temporaryFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-storage-"));
  t.after(() => {
    rmSync(folder, { recursive: true });
  });
  return join(folder, "data", "hone.db");
}

const open = (options: SqliteOptions): Promise<Stores> => openStores(openSqlite(options));

/** Code that imports the functions with which another process opens a database. */
const opening = `
  const { openStores } = await import(${JSON.stringify(new URL("../stores.js", import.meta.url).href)});
  const { openSqlite } = await import(${JSON.stringify(new URL("./sqlite-dialect.js", import.meta.url).href)});`;

test("refuses a second server on the same data, naming the first, until the first releases it", async (t) => {
  const file = temporaryFile(t);
  const first = await open({ file });
  await assert.rejects(open({ file }), {
    code: "conflict",
    message: new RegExp(`process ${process.pid}`),
  });
  await first.close();
  await first.close();
  await (await open({ file })).close();
});

test("creates the tables once if processes start at the same moment on an empty folder", async (t) => {
  const file = temporaryFile(t);
  const script = `
    ${opening}
    process.stdin.once("data", async () => {
      const isShared = process.argv[1] === "command";
      const opened = openStores(openSqlite({ file: ${JSON.stringify(file)}, isShared }));
      process.stdout.write(await opened.then(async (stores) => (await stores.close(), "opened"), ({ message }) => message));
      process.exit();
    });
    process.stdout.write("ready\\n");`;
  const kinds = ["server", "command", "server"];
  const children = kinds.map((kind) =>
    spawn(process.execPath, ["--input-type=module", "-e", script, kind], {
      stdio: ["pipe", "pipe", "inherit"],
    }),
  );
  await Promise.all(children.map((child) => once(child.stdout, "data")));
  const outcomes = await Promise.all(
    children.map(async (child) => {
      child.stdin.write("go");
      let outcome = "";
      for await (const piece of child.stdout) outcome += String(piece);
      return outcome;
    }),
  );
  for (const outcome of outcomes)
    assert.match(outcome, /^opened$|^Another server.* is using this data folder/);
  assert.equal(outcomes[1], "opened");
  assert.ok([outcomes[0], outcomes[2]].includes("opened"));
});

test("refuses servers with different databases on one data folder", async (t) => {
  const file = temporaryFile(t);
  const dataFolder = dirname(file);
  const first = await open({ file });
  const elsewhere = { file: temporaryFile(t), dataFolder };
  await assert.rejects(open(elsewhere), { code: "conflict" });
  await first.close();
  const second = await open(elsewhere);
  await assert.rejects(open({ file }), { code: "conflict" });
  await second.close();
});

test("frees a dead server's leases for the next one immediately, but not from a command that runs alongside", async (t) => {
  const file = temporaryFile(t);
  const first = await open({ file });
  await storeModel(first.models, "m");
  await first.jobs.create(sampleJob("j", "m"), [], null);
  await storeServer(first.servers);
  await first.jobs.claim("server", moment(1));
  await (await open({ file, isShared: true })).close();
  assert.deepEqual(await rescueNow(first.jobs), []);
  // Closes the database without giving up the server's lease, as if the server was killed.
  await first.close();
  const second = await open({ file });
  t.after(() => second.close());
  assert.deepEqual(await rescueNow(second.jobs), ["j"]);
});

test("reports a full disk from a statement and from a transaction, and stores nothing partially", async (t) => {
  const file = temporaryFile(t);
  mkdirSync(dirname(file));
  const connection = openSqlite({ file, isShared: true });
  t.after(() => connection.queries.destroy());
  await migrate(connection);
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(connection.queries);
  const setRoom = (pages: number) =>
    sql.raw(`pragma max_page_count = ${rows[0].page_count + pages}`).execute(connection.queries);
  const keys = createKeyStore(connection.queries);
  const jobs = createJobStore(connection, createOutbox(connection, systemClock));
  const models = createModelStore(connection);
  await models.create(sampleModel("m"), sampleVersion("m", 0));
  await setRoom(0);
  const isFull = { code: "unavailable", obstacle: "full-disk", message: /disk .* is full/ };
  const large = sampleKey("large", { owner: "x".repeat(1_000_000) });
  await assert.rejects(keys.create(large), isFull);
  const lines = groupLines(Array.from({ length: 200 }, (_, index) => sampleGroup(index)));
  await assert.rejects(jobs.create(sampleJob("j", "m"), lines, null), isFull);
  assert.equal(await jobs.find("j"), null);
  await setRoom(1_000_000);
  await keys.create(large);
  assert.equal((await jobs.create(sampleJob("j", "m"), lines, null)).isNew, true);
});

test("lets entities take turns with batches of feedback", async (t) => {
  const database = await open({ file: temporaryFile(t) });
  t.after(() => database.close());
  const ended: string[] = [];
  const store = async (projectId: string, name: string): Promise<void> => {
    const records = [1, 2].map((index) => sampleFeedback(`${name}-${index}`, { projectId }));
    await database.feedback.create(records);
    ended.push(name);
  };
  const many = ["a1", "a2", "a3"].map((name) => store("a/p", name));
  await Promise.all([...many, store("b/p", "b1")]);
  assert.deepEqual(ended, ["a1", "a2", "b1", "a3"]);
});

/** Polls until the condition holds, up to the test's time limit. */
async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}

test("returns the space of a deleted model to the file system", { timeout: 300_000 }, async (t) => {
  const file = temporaryFile(t);
  const database = await open({ file });
  t.after(() => database.close());
  await database.models.create(sampleModel("m"), sampleVersion("m", 0));
  const group = { ...sampleGroup(0), logs: ["x".repeat(1 << 20)] };
  const lines = groupLines(Array.from({ length: 14 }, () => group));
  await database.jobs.create(sampleJob("j", "m"), lines, null);
  await database.keys.create(sampleKey("k"));
  await eventually(() => statSync(file).size > 14 << 20);
  await database.models.delete("m");
  await eventually(() => statSync(file).size < 8 << 20);
  assert.ok(statSync(`${file}-wal`).size <= 16 << 20);
  assert.equal((await database.keys.list(firstPage)).items.length, 1);
});

/** Returns the access keys in a copy of the database file without its write-ahead log. */
function keysWithoutLog(t: TestContext, file: string): readonly string[] {
  const copy = temporaryFile(t);
  mkdirSync(dirname(copy));
  copyFileSync(file, copy);
  const raw = new Sqlite(copy);
  try {
    return raw
      .prepare("select id from access_keys")
      .all()
      .map((row) => (row as { readonly id: string }).id);
  } catch {
    // Without the log, even the table does not exist yet.
    return [];
  } finally {
    raw.close();
  }
}

test("checkpoints the log once nothing is being written", async (t) => {
  const file = temporaryFile(t);
  const database = await open({ file });
  t.after(() => database.close());
  await database.keys.create(sampleKey("k"));
  await eventually(() => keysWithoutLog(t, file).includes("k"));
});

test("checkpoints the log of a dead process at the next start", async (t) => {
  const [file, left] = [temporaryFile(t), temporaryFile(t)];
  const database = await open({ file });
  t.after(() => database.close());
  await database.keys.create(sampleKey("k"));
  mkdirSync(dirname(left));
  for (const end of ["", "-wal"]) copyFileSync(`${file}${end}`, `${left}${end}`);
  const next = await open({ file: left });
  t.after(() => next.close());
  assert.deepEqual(keysWithoutLog(t, left), ["k"]);
});

test("answers reads and delays writes while another process locks the database, then continues", async (t) => {
  const file = temporaryFile(t);
  const database = await open({ file });
  t.after(() => database.close());
  const other = new Sqlite(file);
  t.after(() => other.close());
  for (let round = 0; round < 3; round++) {
    other.exec("BEGIN IMMEDIATE");
    let isWritten = false;
    const ids = [0, 1, 2].map((index) => `key ${round} ${index}`);
    const writes = Promise.all(ids.map((id) => database.keys.create(sampleKey(id)))).then(
      () => (isWritten = true),
    );
    for (let read = 0; read < 20; read++) {
      assert.equal((await database.keys.list(firstPage)).items.length, 3 * round);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(isWritten, false);
    other.exec("COMMIT");
    await writes;
  }
  assert.equal((await database.keys.list(firstPage)).items.length, 9);
});

test("lets a command work while a server holds the lock", async (t) => {
  const file = temporaryFile(t);
  const server = await open({ file });
  const command = await open({ file, isShared: true });
  await command.keys.create(sampleKey("a"));
  assert.deepEqual((await server.keys.list(firstPage)).items, [sampleKey("a")]);
  await command.close();
  await assert.rejects(open({ file }), { code: "conflict" });
  await server.close();
});

test("refuses a database of a newer program, and leaves it unchanged", async (t) => {
  const file = temporaryFile(t);
  await (await open({ file })).close();
  const raw = new Sqlite(file);
  const newer = newestDatabaseVersion + 1;
  raw.exec(`UPDATE database_version SET version = ${newer}, serves_from = ${newer}`);
  raw.close();
  const version = new RegExp(`version ${newer}`);
  await assert.rejects(open({ file }), { code: "unsupported", message: version });
  await assert.rejects(open({ file }), { code: "unsupported" }, "the lock was let go");
});

test("refuses a file that is not a database, naming its path", async (t) => {
  const file = temporaryFile(t);
  mkdirSync(dirname(file));
  writeFileSync(file, "not a database, but long enough to have been one: ".repeat(100));
  await assert.rejects(open({ file }), {
    code: "internal",
    message: /hone\.db is damaged: file is not a database/,
  });
});

test("reports a damaged page, and neither skips it nor returns no rows", async (t) => {
  const file = temporaryFile(t);
  const first = await open({ file });
  const noteOf = (index: number) => `note of record ${index}. `.repeat(150);
  const records = Array.from({ length: 60 }, (_, index) =>
    sampleFeedback(`f${index}`, { payload: { note: noteOf(index) } }),
  );
  await first.feedback.create(records);
  await storeModel(first.models, "m");
  await first.close();
  damagePagesOf(file, "note of record 30.");

  const damaged = await open({ file });
  const { feedback, models } = damaged;
  assert.equal(damaged.damage(), null);
  const isDamaged = {
    code: "internal",
    message: /hone\.db is damaged: .*malformed.* restore the newest backup/,
  };
  const turn = { entity: "team", timeMs: 30_000 };
  const all = {
    projectId: "team/games",
    condition: always,
    sortBy: [],
    limit: 100,
    offset: 0,
    bytesMax: 1 << 24,
  };
  await assert.rejects(feedback.query(all, turn), isDamaged);
  await assert.rejects(feedback.find("team/games", "f30"), isDamaged);
  await assert.rejects(feedback.delete("team/games", ["f30"]), isDamaged);
  assert.match(damaged.damage()?.message ?? "", /is damaged/);
  // All other data can still be read and stored.
  assert.deepEqual(await feedback.find("team/games", "f1"), records[1]);
  assert.deepEqual(await models.find("m"), sampleModel("m"));
  await storeModel(models, "n");
  await damaged.close();
  const again = await open({ file });
  assert.deepEqual(await again.models.find("n"), sampleModel("n"));
  await again.close();

  const tables = databaseTables(openSqlite({ file, isShared: true }));
  const snapshot = await tables.snapshot();
  assert.match((await snapshot.faults()).join("\n"), /page|malformed|btree/i);
  const copied = async () => {
    for (const of of await tables.tables()) for await (const _ of snapshot.rows(of));
  };
  await assert.rejects(copied(), isDamaged);
  await snapshot.close();
  await tables.close();
});

test("refuses a file whose first page is damaged, and says what to do", async (t) => {
  const file = temporaryFile(t);
  await (await open({ file })).close();
  damagePagesOf(file, "SQLite format 3");
  await assert.rejects(open({ file }), {
    code: "internal",
    message: /hone\.db is damaged.* restore the newest/,
  });
});

test("keeps everything acknowledged before a kill, and frees the lock", async (t) => {
  const file = temporaryFile(t);
  for (let round = 0; round < 2; round++) {
    const acknowledged = await writeUntilKilled(file, round);
    const database = await open({ file });
    const kept = new Set<string>();
    for await (const key of allItems((page) => database.keys.list(page))) kept.add(key.id);
    assert.deepEqual(
      acknowledged.filter((id) => !kept.has(id)),
      [],
    );
    assert.ok(acknowledged.length > 10);
    await database.close();
  }
});

/**
 * Runs a process that writes access keys and prints each one that was acknowledged. Kills it after a few keys, and
 * returns them.
 */
async function writeUntilKilled(file: string, round: number): Promise<readonly string[]> {
  const script = `
    ${opening}
    const { freshKey } = await import(${JSON.stringify(new URL("../../../base/domain/access.js", import.meta.url).href)});
    const { keys } = await openStores(openSqlite({ file: ${JSON.stringify(file)} }));
    for (let index = 0; ; index++) {
      const id = "${round}-" + index;
      await keys.create({ ...freshKey, id, entity: "e", role: "member", owner: "o", secretHash: id, createdAt: new Date(0) });
      process.stdout.write(id + "\\n");
    }`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = once(child, "exit");
  const acknowledged: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.push(line);
    if (acknowledged.length === 20 + 7 * round) child.kill("SIGKILL");
  }
  await exit;
  return acknowledged;
}

// Databases that earlier versions of the program wrote.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { sql } from "kysely";
import { searchedOf } from "../../../base/domain/testing/search.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import type { EarlierLogs } from "../../../base/domain/trajectory.ts";
import { sampleFeedback, sampleKey, sampleLog } from "../contract/storage-under-test.ts";
import type { Connection } from "../dialect.ts";
import { openStores } from "../stores.ts";
import { migrate, newestDatabaseVersion } from "./migrations.ts";
import { openSqlite } from "../sqlite/sqlite-dialect.ts";

const firstPage = { after: null, limit: 100, order: "asc" } as const;

/** Statements of the file that a folder of an earlier version was recorded as. */
const recorded = (version: number): readonly string[] =>
  readFileSync(`test/fixtures/data-folders/version-${version}/hone.sql`, "utf8").split("\n");

/** An empty database of an earlier version. */
async function openEarlier(t: TestContext, version: number): Promise<Connection> {
  const folder = mkdtempSync(join(tmpdir(), "hone-migrations-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const connection = openSqlite({ file: join(folder, "hone.db"), isShared: true });
  const statements = recorded(version).filter((line) => /^create /i.test(line));
  await connection.queries.transaction().execute(async (transaction) => {
    for (const statement of statements) await sql.raw(statement).execute(transaction);
    await sql`insert into database_version (version) values (${version})`.execute(transaction);
  });
  return connection;
}

/** What SQLite knows of the tables: columns by name, what is unique, what is indexed, what refers to what. */
async function tablesOf({ queries }: Connection): Promise<object> {
  const { rows: tables } = await sql<{ readonly name: string }>`
    select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name`.execute(
    queries,
  );
  const read = async (pragma: string): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    (await sql.raw<Record<string, unknown>>(`select * from ${pragma}`).execute(queries)).rows;
  const described: Record<string, unknown> = {};
  for (const { name } of tables) {
    const columns = (await read(`pragma_table_info('${name}') where name <> 'position' order by name`)).map(
      ({ name: column, type, dflt_value }) => [column, String(type).toLowerCase(), dflt_value],
    );
    const indexes: unknown[] = [];
    for (const index of await read(`pragma_index_list('${name}')`))
      indexes.push([
        index["unique"],
        ...(await read(`pragma_index_info('${String(index["name"])}')`)).map((part) => part["name"]),
      ]);
    const references = await read(`pragma_foreign_key_list('${name}') order by "from"`);
    described[name] = { columns, indexes: indexes.map(String).sort(), references };
  }
  return described;
}

test("a database of any earlier version has the tables that a new one has", async (t) => {
  const fresh = openSqlite({ file: ":memory:", isShared: true });
  await migrate(fresh);
  const newest = await tablesOf(fresh);
  await fresh.queries.destroy();
  // Folders are recorded of versions that were released, and each goes through all steps behind its own.
  const versions = readdirSync("test/fixtures/data-folders")
    .map((name) => Number(name.replace("version-", "")))
    .sort((one, other) => one - other)
    .filter((version) => version < newestDatabaseVersion);
  // From the first on goes through every step.
  for (const version of [versions[0], ...searchedOf(versions.slice(1), 4)]) {
    const earlier = await openEarlier(t, version);
    await migrate(earlier);
    assert.deepEqual(await tablesOf(earlier), newest, `from version ${version}`);
    await earlier.queries.destroy();
  }
});

test("a database of version 1 gets what it lacked, and its lists go on", async (t) => {
  const old = await openEarlier(t, 1);
  for (const statement of [
    sql`insert into models values (1, 'm', 'e', 'p', 'n', 'tiny', '2026-01-01')`,
    sql`insert into model_versions values ('v', 'm', 0, null, null, '{}', '2026-01-01', 0)`,
    sql`insert into model_versions values ('w', 'm', 1, 'adapters/m/1', null, '{}', '2026-01-01', 0)`,
    sql`insert into jobs (id, model_id, state, config, config_not_applied, created_at, attempt_count, cancel_requested, not_before)
      values ('j', 'm', 'queued', '{"ppo":true}', '[]', '2026-01-01', 0, 0, '1970-01-01')`,
    sql`insert into job_groups values ('j', 0, '{"a":1}'), ('j', 1, '{"b":2}')`,
    sql`insert into access_keys values (7, 'k', 'e', 'admin', 'o', 'hash', '2026-01-01', null)`,
    sql`insert into trajectory_logs values (3, 'l', 'm', 'val', 0, '2026-01-01', '{"sum":1}'), (5, 'o', 'm', 'val', 0, '2026-01-01', '{"sum":2}')`,
    sql`insert into trajectory_groups values ('l', 0, ${groupOf("a")}), ('l', 1, ${groupOf(null, 7, "b")}), ('o', 0, ${groupOf("b")})`,
    sql`insert into feedback values (1, 'p', 'f', 'ref', 'score', 'u', '2026-01-01', 'hash', ${record(2)})`,
    sql`insert into feedback_revisions values (4, 'p', 'f', '2026-01-01', ${record(1)})`,
  ]) {
    await statement.execute(old.queries);
  }
  const database = await openStores(old);
  const { keys, jobs, models, trajectories, feedback } = database;
  const job = await jobs.find("j");
  const content = '{"ppo":true}\n{"a":1}\n{"b":2}\n';
  assert.equal(job?.contentHash, createHash("sha256").update(content).digest("hex"));
  assert.equal(job.pins, null);
  // What it could not say then is at its default.
  assert.deepEqual(job.task, { kind: "rl", config: resolveTrainingConfig({ ppo: true }) });
  assert.equal((await models.findVersion("m", 0))?.trainerState, null);
  assert.equal((await models.findVersion("m", 1))?.trainerState, "adapters/m/1/optimizer.safetensors");
  await keys.create(sampleKey("later"));
  assert.deepEqual(
    (await keys.list(firstPage)).items.map(({ id }) => id),
    ["k", "later"],
  );
  const seen: EarlierLogs[] = [];
  const log = sampleLog("later", { scenarioIds: ["c"] });
  await trajectories.append(log, (earlier) => {
    seen.push(earlier);
    return {};
  });
  assert.deepEqual(seen, [{ metrics: { sum: 2 }, scenarioCount: 4 }]);
  const logs = (await trajectories.list("m", { split: null }, firstPage)).items;
  assert.deepEqual(
    logs.slice(0, 2).map(({ id, groupCount, contentBytes }) => [id, groupCount, contentBytes]),
    [
      ["l", 2, Buffer.byteLength(groupOf("a") + groupOf(null, 7, "b"))],
      ["o", 1, Buffer.byteLength(groupOf("b"))],
    ],
  );
  assert.equal(logs[2]?.id, "later");
  const { id: _id, createdAt: _at, ...replacement } = sampleFeedback("f", { projectId: "p" });
  await feedback.replace("p", "f", replacement, new Date(0));
  assert.deepEqual(
    (await feedback.history("p", "f", firstPage)).items.map((revision) => revision.record.payload),
    [{ value: 1 }, { value: 2 }],
  );
  await database.close();
});

/** A group as version 1 stored it, with the scenario of its own or those of its trajectories. */
function groupOf(scenario: string | null, ...others: readonly (string | number)[]): string {
  const trajectories = others.map((id) => ({ metadata: { scenario_id: id, note: "é" } }));
  return JSON.stringify({ metadata: scenario === null ? {} : { scenario_id: scenario }, trajectories });
}

function record(value: number): string {
  return JSON.stringify({ ...sampleFeedback("f"), projectId: "p", payload: { value } });
}

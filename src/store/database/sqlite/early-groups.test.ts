// Tests storing large jobs and logs on SQLite, which has one writer at a time: other writes run in between, and
// failures leave nothing behind.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import Sqlite from "libsql";
import {
  groupLines,
  moment,
  sampleGroup,
  sampleJob,
  sampleKey,
  sampleModel,
  sampleVersion,
} from "../contract/storage-under-test.ts";
import type { TrajectoryLogDraft } from "../../../base/domain/trajectory.ts";
import { databaseTables } from "../dump/database-tables.ts";
import { type GroupsToStore, stageGroups } from "../groups.ts";
import { openStores, type Stores } from "../stores.ts";
import { openSqlite } from "./sqlite-dialect.ts";

/** Enough data lines for many INSERT statements. */
const largeLines = groupLines(
  Array.from({ length: 40 }, (_, index) => ({ ...sampleGroup(index), logs: ["x".repeat(150_000)] })),
);

function temporaryFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-early-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "hone.db");
}

async function storesOn(t: TestContext, file: string): Promise<Stores> {
  const stores = await openStores(openSqlite({ file }));
  t.after(() => stores.close());
  await stores.models.create(sampleModel("m"), sampleVersion("m", 0));
  return stores;
}

/** Counts all stored rows of groups, also those that belong to no job and no log. */
function countGroups(file: string): number {
  const connection = new Sqlite(file);
  const counting =
    "select (select count(*) from job_groups) + (select count(*) from trajectory_groups) as count";
  // Safe cast: the query returns this row.
  const [{ count }] = connection.prepare(counting).all() as [{ readonly count: number }];
  connection.close();
  return count;
}

function logOf(modelId: string): TrajectoryLogDraft {
  return {
    id: "l",
    modelId,
    split: "val",
    step: 0,
    recordedAt: moment(0),
    groupCount: 40,
    scenarioIds: [],
    outlines: [],
    lines: largeLines,
  };
}

const append = (stores: Stores, log: TrajectoryLogDraft): Promise<unknown> =>
  stores.trajectories.append(log, () => ({}));

for (const [what, store] of [
  ["job", (stores: Stores): Promise<unknown> => stores.jobs.create(sampleJob("j", "m"), largeLines, null)],
  ["log", (stores: Stores): Promise<unknown> => append(stores, logOf("m"))],
] as const) {
  test(`runs small writes while a large ${what} is written`, async (t) => {
    const stores = await storesOn(t, temporaryFile(t));
    const ended: string[] = [];
    const large = store(stores).then(() => ended.push("large"));
    // By now, the large submission has begun to write.
    await stores.keys.create(sampleKey("first"));
    const small = stores.keys.create(sampleKey("second")).then(() => ended.push("small"));
    await Promise.all([large, small]);
    assert.deepEqual(ended, ["small", "large"]);
    const lines = what === "job" ? stores.jobs.trajectoryLines("j") : stores.trajectories.lines("l");
    const read: string[] = [];
    for await (const line of (await lines) ?? []) read.push(line);
    assert.deepEqual(read, largeLines);
  });
}

test("leaves nothing of a large job or log whose model is gone, or of a job that exists already", async (t) => {
  const file = temporaryFile(t);
  const stores = await storesOn(t, file);
  const gone = stores.jobs.create(sampleJob("j", "none"), largeLines, null);
  await assert.rejects(gone, { code: "not_found" });
  await assert.rejects(append(stores, logOf("none")), { code: "not_found" });
  assert.equal(countGroups(file), 0);
  const idempotency = { keyId: "k", key: "once", bodyHash: "h" };
  const [one, other] = await Promise.all([
    stores.jobs.create(sampleJob("one", "m"), largeLines, idempotency),
    stores.jobs.create(sampleJob("other", "m"), largeLines, idempotency),
  ]);
  assert.equal(one.id, other.id);
  assert.notEqual(one.isNew, other.isNew);
  assert.equal(countGroups(file), largeLines.length);
});

test("refuses a large job for lack of room before storing anything of it", async (t) => {
  const file = temporaryFile(t);
  const stores = await storesOn(t, file);
  await stores.jobs.create(sampleJob("first", "m"), [], null);
  let readCount = 0;
  const lines = (function* () {
    for (const line of largeLines) {
      readCount += 1;
      yield line;
    }
  })();
  const refused = stores.jobs.create(sampleJob("second", "m"), lines, null, { queuedMax: 1 });
  await assert.rejects(refused, { code: "overloaded" });
  assert.ok(readCount < largeLines.length / 2, `${readCount} lines were read`);
  assert.equal(countGroups(file), 0);
});

test("hides ownerless groups of a killed process from copies and checks, and deletes them at the next start", async (t) => {
  const file = temporaryFile(t);
  const stores = await storesOn(t, file);
  const owned = groupLines([sampleGroup(1)]);
  await stores.jobs.create(sampleJob("j", "m"), owned, null);
  await append(stores, { ...logOf("m"), lines: owned });
  await stores.close();
  const connection = openSqlite({ file, isShared: true });
  for (const [table, ownerId] of [
    ["job_groups", "a"],
    ["job_groups", "z"],
    ["trajectory_groups", "b"],
  ] as const) {
    const groups: GroupsToStore = { table, ownerId, lines: largeLines, onLine: () => undefined };
    await stageGroups(connection, groups, async () => true);
  }
  const tables = databaseTables(connection);
  const snapshot = await tables.snapshot();
  assert.deepEqual(await snapshot.faults(), []);
  for (const table of (await tables.tables()).filter((each) => each.table.endsWith("_groups"))) {
    const rows: unknown[] = [];
    for await (const page of snapshot.rows(table)) rows.push(...page);
    assert.equal(rows.length, owned.length, table.table);
  }
  await snapshot.close();
  await connection.queries.destroy();
  assert.equal(countGroups(file), 2 * owned.length + 3 * largeLines.length);
  await (await openStores(openSqlite({ file }))).close();
  assert.equal(countGroups(file), 2 * owned.length);
});

// Tests of backups of real data folders: moving between kinds of databases, copying while a server writes, and refused
// operations.
import assert from "node:assert/strict";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test, type TestContext } from "node:test";
import { sql } from "kysely";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { hashOfFiles } from "../../../store/artifacts/seal.ts";
import { startBucketServer } from "../../../store/artifacts/testing/bucket-server.ts";
import { type Manifest, manifestText } from "../../backup/archive/manifest.ts";
import type { Fault } from "../../backup/fault.ts";
import type { Cell, DatabaseTables } from "../../../base/domain/backup/tables.ts";
import { noUsage } from "../../../base/domain/keys/usage.ts";
import { adapterFolderOf, adaptersOf } from "../../../base/domain/model.ts";
import { adapterFiles } from "../../../inference/architectures/hashes/adapter-hash.ts";
import {
  firstPage,
  moment,
  sampleKey,
  sampleModel,
  sampleVersion,
} from "../../../store/database/contract/storage-under-test.ts";
import { baselineVersion } from "../../../store/database/migrations/baseline.ts";
import { migrate, newestDatabaseVersion } from "../../../store/database/migrations/migrations.ts";
import { openSqlite } from "../../../store/database/sqlite/sqlite-dialect.ts";
import type { Stores } from "../../../store/database/stores.ts";
import { createPostgres, withoutPostgres } from "../../../store/database/testing/postgres-databases.ts";
import { inProof, searchCount, searchedOf } from "../../../base/domain/testing/search.ts";
import { readConfig } from "../config.ts";
import { databasePlace, type DatabasePlace } from "../database-place.ts";
import {
  backup,
  exportDatabase,
  importDatabase,
  migrateDatabase,
  restore,
  verify,
  type PlaceFlags,
} from "./archive-commands.ts";
import { clearStaging } from "./staging.ts";

const watching = { report: () => undefined, signal: new AbortController().signal };
/** Fixture: rows and adapters that a server wrote at the baseline version of the database. */
const recorded = "test/fixtures/data-folder";

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-archives-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function emptyPostgres(t: TestContext): Promise<string> {
  const { url, drop } = await createPostgres();
  t.after(drop);
  return url;
}

/** Data folder that the tests copy, made by the first test that needs one. */
let original: Promise<string> | null = null;
after(async () => {
  if (original !== null) rmSync(await original, { recursive: true });
});

/** Returns a new data folder with the rows and adapters of the fixture. */
async function recordedFolder(t: TestContext): Promise<string> {
  const data = join(newFolder(t), "data");
  cpSync(await (original ??= makeOriginal()), data, { recursive: true });
  return data;
}

async function makeOriginal(): Promise<string> {
  const data = mkdtempSync(join(tmpdir(), "hone-archives-"));
  cpSync(join(recorded, "adapters"), join(data, "adapters"), { recursive: true });
  const { queries } = openSqlite({ file: join(data, "hone.db"), isShared: true });
  await queries.transaction().execute(async (transaction) => {
    await sql`pragma defer_foreign_keys = on`.execute(transaction);
    for (const line of readFileSync(join(recorded, "hone.sql"), "utf8").split("\n"))
      if (line !== "") await sql.raw(line).execute(transaction);
  });
  await queries.destroy();
  await migrateDatabase({ data }, false);
  return data;
}

function placeOf(flags: PlaceFlags): DatabasePlace {
  return databasePlace(readConfig({ ...flags }, {}));
}

async function contentOf(flags: PlaceFlags): Promise<Readonly<Record<string, readonly string[]>>> {
  const tables = await placeOf(flags).openTables({ isShared: true });
  try {
    return await rowsOf(tables);
  } finally {
    await tables.close();
  }
}

async function rowsOf(tables: DatabaseTables): Promise<Readonly<Record<string, readonly string[]>>> {
  const snapshot = await tables.snapshot();
  const content: Record<string, readonly string[]> = {};
  for (const of of await tables.tables()) {
    const rows: (readonly Cell[])[] = [];
    for await (const page of snapshot.rows(of)) rows.push(...page);
    content[of.table] = rows.map((row) => JSON.stringify(row)).sort();
  }
  await snapshot.close();
  return content;
}

async function faultsOf(folder: string | null, flags: PlaceFlags): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { what } of verify(folder, flags, watching)) found.push(what);
  return found;
}

test("restores a backup with adapters and every row into another folder", async (t) => {
  const data = await recordedFolder(t);
  const archive = join(newFolder(t), "archive");
  const manifest = await backup(archive, { data }, watching);
  assert.deepEqual(
    [manifest.database.kind, manifest.database.version, manifest.faults],
    ["sqlite", newestDatabaseVersion, []],
  );
  const restored = join(newFolder(t), "restored");
  await restore(archive, { data: restored }, watching);
  assert.deepEqual(await contentOf({ data: restored }), await contentOf({ data }));
  assert.deepEqual(await faultsOf(archive, {}), []);
  assert.deepEqual(await faultsOf(null, { data: restored }), []);
  // Other users of the machine must not be able to read the archive.
  if (process.platform !== "win32") assert.equal(statSync(join(archive, "manifest.json")).mode & 0o077, 0);
  await assert.rejects(restore(archive, { data: restored }, watching), {
    code: "conflict",
    message: /is not empty/,
  });
  await assert.rejects(backup(join(data, "copy"), { data }, watching), {
    code: "invalid",
    message: /is inside the data folder/,
  });
});

test("restores adapters to the separate folder that --blobs names", async (t) => {
  const data = await recordedFolder(t);
  const [blobs, other] = [join(newFolder(t), "blobs"), join(newFolder(t), "other")];
  mkdirSync(blobs);
  renameSync(join(data, "adapters"), join(blobs, "adapters"));
  const archive = join(newFolder(t), "archive");
  assert.deepEqual((await backup(archive, { data, blobs }, watching)).faults, []);
  const restored = { data: join(newFolder(t), "restored"), blobs: other };
  await restore(archive, restored, watching);
  assert.deepEqual(await faultsOf(null, restored), []);
  assert.notDeepEqual(await faultsOf(null, { data: restored.data }), []);
  assert.ok(existsSync(join(other, "adapters")) && !existsSync(join(restored.data, "adapters")));
  await assert.rejects(backup(join(other, "copy"), restored, watching), { code: "invalid" });
});

test(
  "backs up a server with artifacts in a bucket to a bucket, and restores it from there",
  inProof,
  async (t) => {
    const store = await startBucketServer();
    const before = process.env["AWS_ENDPOINT_URL"];
    t.after(async () => {
      if (before === undefined) delete process.env["AWS_ENDPOINT_URL"];
      else process.env["AWS_ENDPOINT_URL"] = before;
      await store.close();
    });
    const newUrl = (): string => {
      const { bucket, prefix, endpoint } = store.newPlace();
      process.env["AWS_ENDPOINT_URL"] = endpoint ?? "";
      return `s3://${bucket}/${prefix}`;
    };
    const data = await recordedFolder(t);
    const [first, second] = [newUrl(), newUrl()];
    await assert.rejects(verify(first, {}, watching).next(), {
      code: "not_found",
      message: /^s3:.* is no archive/,
    });
    assert.deepEqual((await backup(first, { data }, watching)).faults, []);
    assert.deepEqual(await faultsOf(first, {}), []);

    const server = { data: join(newFolder(t), "server"), blobs: newUrl() };
    await restore(first, server, watching);
    assert.equal(existsSync(join(server.data, "adapters")), false);
    assert.deepEqual(await faultsOf(null, server), []);
    assert.deepEqual((await backup(second, server, watching)).faults, []);
    const last = { data: join(newFolder(t), "last") };
    await restore(second, last, watching);
    assert.deepEqual(await contentOf(last), await contentOf({ data }));
    assert.deepEqual(await faultsOf(null, last), []);

    await assert.rejects(backup(first, { data }, watching), {
      code: "conflict",
      message: /already holds an archive/,
    });
    await assert.rejects(backup(`${server.blobs}/copy`, server, watching), { code: "invalid" });
    await assert.rejects(backup("s3://No Bucket", { data }, watching), {
      code: "invalid",
      message: /^The bucket is/,
    });
    // The next backup to the same target removes the remains of an interrupted one.
    const third = newUrl();
    store.pass(({ path }) =>
      path.includes("SHA256SUMS") ? { status: 403, code: "AccessDenied" } : "through",
    );
    await assert.rejects(backup(third, { data }, watching), {
      code: "unavailable",
      message: /must be allowed/,
    });
    store.pass(() => "through");
    await assert.rejects(restore(third, { data: join(newFolder(t), "none") }, watching), {
      code: "not_found",
    });
    await backup(third, { data }, watching);
    assert.deepEqual(await faultsOf(third, {}), []);
  },
);

/** Archives of earlier database versions, each written by the program of that version. */
const archives = "test/fixtures/archives";

for (const name of readdirSync(archives))
  test(`restores an archive of ${name} without faults`, async (t) => {
    const folder = join(archives, name);
    assert.deepEqual(await faultsOf(folder, {}), []);
    const restored = { data: join(newFolder(t), "restored") };
    const { database } = await restore(folder, restored, watching);
    assert.equal(`version-${database.version}`, name);
    assert.deepEqual(await faultsOf(null, restored), []);
    const content = await contentOf(restored);
    for (const { table, rows } of database.tables) assert.equal(content[table].length, rows, table);
  });

/**
 * Stores a key with limits, two secrets and some usage.
 *
 * @returns a function that checks that another database has the same
 */
async function addLimitedKey(flags: PlaceFlags): Promise<(flags: PlaceFlags) => Promise<void>> {
  const key = sampleKey("limited", {
    name: "nightly \u0000 run",
    scopes: ["train", "read"],
    project: "games",
    expiresAt: moment(60),
  });
  const used = {
    ...noUsage,
    day: "2026-01-02",
    keyId: "limited",
    entity: "team",
    model: "team/games/a",
    trainingTokens: Number.MAX_SAFE_INTEGER,
  };
  const from = await placeOf(flags).open({ isShared: false });
  await from.keys.create(key);
  const rotated = await from.keys.rotate("limited", "hash behind", moment(30));
  assert.deepEqual(rotated?.previous, { secretHash: "hash of limited", until: moment(30) });
  await from.usage.add([used]);
  await from.close();
  return async (other) => {
    const stores = await placeOf(other).open({ isShared: false });
    const { keys, usage } = stores;
    assert.deepEqual(await keys.find("limited"), rotated);
    for (const hash of ["hash behind", "hash of limited"])
      assert.equal((await keys.findByHash(hash))?.id, "limited");
    const ofKey = { entity: null, keyId: "limited", model: null, from: null, to: null };
    assert.deepEqual((await usage.list(ofKey, firstPage)).rows, [used]);
    await stores.close();
  };
}

describe("PostgreSQL", { skip: withoutPostgres }, () => {
  test("restores a backup of SQLite into PostgreSQL, and one of PostgreSQL into SQLite", async (t) => {
    const data = await recordedFolder(t);
    const checkKeys = await addLimitedKey({ data });
    const archives = newFolder(t);
    await backup(join(archives, "one"), { data }, watching);
    const middle = { data: join(newFolder(t), "middle"), "database-url": await emptyPostgres(t) };
    await restore(join(archives, "one"), middle, watching);
    assert.deepEqual(await contentOf(middle), await contentOf({ data }));
    await checkKeys(middle);
    const { database } = await backup(join(archives, "two"), middle, watching);
    assert.equal(database.kind, "postgres");
    const last = { data: join(newFolder(t), "last") };
    await restore(join(archives, "two"), last, watching);
    assert.deepEqual(await contentOf(last), await contentOf({ data }));
    assert.deepEqual(await faultsOf(null, last), []);
  });

  test("moves a database to the other kind and back, and keeps the data folder", async (t) => {
    const data = await recordedFolder(t);
    const before = await contentOf({ data });
    const archives = newFolder(t);
    await exportDatabase(join(archives, "one"), { data }, watching);
    const there = { data, "database-url": await emptyPostgres(t) };
    await importDatabase(join(archives, "one"), there, watching);
    assert.deepEqual(await contentOf(there), before);
    assert.deepEqual(await faultsOf(null, there), []);
    await assert.rejects(importDatabase(join(archives, "one"), there, watching), { code: "conflict" });
    await exportDatabase(join(archives, "two"), there, watching);
    rmSync(join(data, "hone.db"));
    await importDatabase(join(archives, "two"), { data }, watching);
    assert.deepEqual(await contentOf({ data }), before);
  });
});

/** Publishes models with adapters, and deletes all but the newest three, until it is stopped. */
async function write(
  stores: Stores,
  data: string,
  { isStopped, name }: { readonly isStopped: () => boolean; readonly name: string },
): Promise<number> {
  const { artifacts } = dataFolderAt(data, name);
  let count = 0;
  for (; !isStopped(); count++) {
    const id = `${name} ${count}`;
    const key = adapterFolderOf(id, 1);
    const adapterHash = await artifacts.put(key, async (folder) => {
      for (const file of Object.values(adapterFiles)) writeFileSync(join(folder, file), `${id} ${file}`);
      return hashOfFiles(folder, Object.values(adapterFiles));
    });
    const version = sampleVersion(id, 1, { adapterFolder: key, adapterHash, trainerState: null });
    await stores.models.create(sampleModel(id), sampleVersion(id, 0), version);
    // Keeps the newest three models.
    const gone = `${name} ${count - 3}`;
    if (await stores.models.delete(gone)) await artifacts.remove(adaptersOf(gone));
  }
  return count;
}

/** Kinds of databases, with the reason to skip their tests. */
const kinds = [
  ["SQLite", false],
  ["PostgreSQL", withoutPostgres],
] as const;

for (const [kind, skip] of searchedOf(kinds, 1, "kinds"))
  test(`takes consistent backups of ${kind} while two writers run`, { skip }, async (t) => {
    const folder = newFolder(t);
    const data = join(folder, "data");
    const flags = { data, ...(kind === "PostgreSQL" && { "database-url": await emptyPostgres(t) }) };
    mkdirSync(data);
    const stores = await placeOf(flags).open({ isShared: false });
    let isStopped = false;
    const writing = ["one", "two"].map((name) => write(stores, data, { isStopped: () => isStopped, name }));
    try {
      for (let round = 0; round < searchCount(1); round++) {
        const archive = join(folder, `archive ${round}`);
        assert.deepEqual((await backup(archive, flags, watching)).faults, []);
        assert.deepEqual(await faultsOf(archive, {}), []);
        const restored = { data: join(folder, `restored ${round}`) };
        await restore(archive, restored, watching);
        assert.deepEqual(await faultsOf(null, restored), []);
        assert.deepEqual(await faultsOf(null, flags), []);
        const { models = [], model_versions: versions = [] } = await contentOf(restored);
        // Each model was written with its two versions in one transaction.
        assert.equal(versions.length, 2 * models.length);
      }
    } finally {
      isStopped = true;
      const counts = await Promise.all(writing);
      await stores.close();
      assert.ok(counts.every((count) => count > 3));
    }
  });

test("refuses a manifest whose tables differ from those of its database version, although its hash is valid", async (t) => {
  const data = await recordedFolder(t);
  const copies = newFolder(t);
  const [whole, exported] = [join(copies, "backup"), join(copies, "export")];
  await backup(whole, { data }, watching);
  await exportDatabase(exported, { data }, watching);
  type Database = Manifest["database"];
  const changes: readonly (readonly [(database: Database) => object, RegExp])[] = [
    [
      ({ tables }) => ({
        tables: tables.map((of) => ({
          ...of,
          columns: of.columns.map((name) =>
            of.table === "model_versions" && name === "adapter_folder" ? "folder" : name,
          ),
        })),
      }),
      /the column model_versions\.adapter_folder is missing, the column model_versions\.folder is unknown/,
    ],
    [({ tables }) => ({ tables: tables.slice(0, 5) }), /the table jobs is missing, the table job_groups/],
    [
      ({ tables }) => ({ tables: [...tables, { table: "servers", columns: ["id"], rows: 0 }] }),
      /the table servers is unknown/,
    ],
    [() => ({ tables: "all" }), /its fields are not those of a manifest/],
  ];
  for (const [index, [change, expected]] of changes.entries()) {
    for (const folder of searchedOf([whole, exported], 1, `manifest ${index}`)) {
      const path = join(folder, "manifest.json");
      const before = readFileSync(path, "utf8");
      const { format: _format, formatVersion: _version, ...sealed } = JSON.parse(before) as Manifest;
      const { sha256: _, ...content } = { sha256: null, ...sealed };
      const database = { ...content.database, ...change(content.database) };
      writeFileSync(path, manifestText({ ...content, database }));
      const found: Fault[] = [];
      for await (const fault of verify(folder, {}, watching)) found.push(fault);
      assert.deepEqual(
        [found[0]?.what, expected.test(found[0]?.message ?? "")],
        ["manifest.json", true],
        found[0]?.message,
      );
      const target = join(copies, `target-${index}`);
      const load = folder === whole ? restore : importDatabase;
      await assert.rejects(load(folder, { data: target }, watching), { code: "invalid", message: expected });
      assert.equal(existsSync(join(target, "adapters")), false);
      writeFileSync(path, before);
    }
  }
  for (const folder of [whole, exported])
    for await (const fault of verify(folder, {}, watching)) assert.fail(fault.message);
});

test("refuses a restore while a server runs, and a second backup while one is in progress", async (t) => {
  const data = await recordedFolder(t);
  const archive = join(newFolder(t), "archive");
  await backup(archive, { data }, watching);
  const taken = join(newFolder(t), "taken");
  const stores = await placeOf({ data: taken }).open({ isShared: false });
  await assert.rejects(restore(archive, { data: taken }, watching), {
    code: "conflict",
    message: /Another server/,
  });
  await stores.close();
  const second = join(newFolder(t), "second");
  const asked: Promise<unknown>[] = [];
  const report = (): void => {
    if (asked.length === 0)
      asked.push(backup(second, { data }, watching).catch((error: unknown) => String(error)));
  };
  await backup(join(newFolder(t), "first"), { data }, { ...watching, report });
  assert.match(String(await asked[0]), /Another backup of this data folder is in progress/);
  assert.equal(existsSync(join(second, "manifest.json")), false);
});

test("removes the remains of a dead backup at the next start, but not the files of a backup in progress", async (t) => {
  const data = await recordedFolder(t);
  assert.deepEqual(await clearStaging(data), []);
  mkdirSync(join(data, "backup", "staged", "0"), { recursive: true });
  const during: Promise<readonly string[]>[] = [];
  const report = (): void => void during.push(clearStaging(data));
  assert.deepEqual(await clearStaging(data), ["backup/staged"]);
  await backup(join(newFolder(t), "archive"), { data }, { ...watching, report });
  assert.deepEqual((await Promise.all(during)).flat(), []);
  assert.ok(during.length > 0);
  assert.equal(existsSync(join(data, "backup", "staged")), false);
});

test("migrates a database without starting a server, and reports the old and the new version", async (t) => {
  const data = newFolder(t);
  await assert.rejects(migrateDatabase({ data }, false), { code: "not_found" });
  await assert.rejects(backup(join(data, "../none"), { data }, watching), { code: "not_found" });
  const file = join(data, "hone.db");
  const connection = openSqlite({ file, isShared: true });
  await migrate(connection);
  assert.deepEqual(await migrateDatabase({ data }, true), {
    from: newestDatabaseVersion,
    to: newestDatabaseVersion,
  });
  for (const version of [baselineVersion - 1, newestDatabaseVersion + 1]) {
    await sql`update database_version set version = ${version}, serves_from = ${version}`.execute(
      connection.queries,
    );
    const refusal = { code: "unsupported", message: new RegExp(`^The database has version ${version},`) };
    for (const isChecked of searchedOf([true, false], 1, `migrate ${version}`))
      await assert.rejects(migrateDatabase({ data }, isChecked), refusal);
    await assert.rejects(backup(join(data, "../none"), { data }, watching), { code: "unsupported" });
  }
  await connection.queries.destroy();
});

// Tests that other users of the machine cannot access the server's files.
import assert from "node:assert/strict";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { openSqlite, sqliteFiles } from "../../store/database/sqlite/sqlite-dialect.ts";
import { openStores } from "../../store/database/stores.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { keepDataPrivate } from "./private-files.ts";

function newFolder(t: TestContext): string {
  const before = process.umask(0o022);
  const folder = mkdtempSync(join(tmpdir(), "hone-private-"));
  t.after(() => {
    process.umask(before);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

function placeOf(folder: string, name: string) {
  return { folder, files: sqliteFiles(join(folder, name)) };
}

function checkModes(folder: string, modes: Readonly<Record<string, number>>): void {
  const found = Object.keys(modes).map((name) => [name, statSync(join(folder, name)).mode & 0o777]);
  assert.deepEqual(Object.fromEntries(found), modes);
}

test("makes a new data folder and everything in it private", async (t) => {
  const dataFolder = join(newFolder(t), "deep", "data");
  await keepDataPrivate(
    { data: dataFolder, blobs: dataFolder, database: placeOf(dataFolder, "hone.db") },
    silentLogger,
  );
  const database = await openStores(openSqlite({ file: join(dataFolder, "hone.db") }));
  mkdirSync(join(dataFolder, "adapters"));
  const files = { "hone.db": 0o600, "hone.db-wal": 0o600, "hone.db-shm": 0o600, "hone.db.lock": 0o600 };
  checkModes(dataFolder, { ".": 0o700, adapters: 0o700, ...files });
  await database.close();
});

test("makes an existing data folder private and logs that, but does not touch other files", async (t) => {
  const folder = newFolder(t);
  const dataFolder = join(folder, "data");
  for (const name of ["data", "data/adapters"]) mkdirSync(join(folder, name));
  for (const name of ["data/hone.db", "data/hone.json", "other.db", "other.db-wal"])
    writeFileSync(join(folder, name), "");
  chmodSync(folder, 0o755);
  const paths: unknown[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void paths.push(fields) };
  await keepDataPrivate(
    { data: dataFolder, blobs: dataFolder, database: placeOf(folder, "other.db") },
    logger,
  );
  const tightened = { data: 0o700, "data/adapters": 0o700, "data/hone.db": 0o600, "other.db-wal": 0o600 };
  checkModes(folder, { ".": 0o755, ...tightened, "other.db": 0o600, "data/hone.json": 0o644 });
  assert.equal(paths.length, 5);
  await keepDataPrivate(
    { data: dataFolder, blobs: dataFolder, database: placeOf(folder, "other.db") },
    logger,
  );
  assert.equal(paths.length, 5);
});

test("makes the content private of folders that others could access, and of caches in any case", async (t) => {
  const folder = newFolder(t);
  for (const name of ["cache/blobs", "adapters/m/1", "files", "others"])
    mkdirSync(join(folder, name), { recursive: true });
  for (const name of ["cache/a", "cache/blobs/b", "adapters/m/1/c", "files/d", "others/e", "mine", "linked"])
    writeFileSync(join(folder, name), "");
  writeFileSync(join(folder, "cache/program"), "", { mode: 0o755 });
  linkSync(join(folder, "linked"), join(folder, "files/linked"));
  symlinkSync(join(folder, "mine"), join(folder, "cache/link"));
  for (const name of [".", "cache"]) chmodSync(join(folder, name), 0o700);
  const places = { data: folder, blobs: folder, database: placeOf(folder, "hone.db") };
  const said: unknown[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void said.push(fields) };
  await keepDataPrivate(places, logger);
  checkModes(folder, {
    "cache/a": 0o600,
    "cache/blobs": 0o700,
    "cache/blobs/b": 0o600,
    "cache/program": 0o700,
    adapters: 0o700,
    "adapters/m/1": 0o700,
    "adapters/m/1/c": 0o600,
    "files/d": 0o600,
    // Files that may belong to others: targets of symbolic links, and files with several hard links.
    others: 0o755,
    "others/e": 0o644,
    mine: 0o644,
    linked: 0o644,
  });
  assert.equal(said.length, 3);
  await keepDataPrivate(places, logger);
  assert.equal(said.length, 3);
});

test("creates the separate folder of adapters and files, and makes it private like the data folder", async (t) => {
  const folder = newFolder(t);
  const [data, blobs] = [join(folder, "data"), join(folder, "shared", "blobs")];
  const places = { data, blobs, database: placeOf(data, "hone.db") };
  await keepDataPrivate(places, silentLogger);
  checkModes(folder, { data: 0o700, "shared/blobs": 0o700 });
  for (const name of ["adapters", "others"]) mkdirSync(join(blobs, name));
  for (const name of [".", "adapters", "others"]) chmodSync(join(blobs, name), 0o755);
  await keepDataPrivate(places, silentLogger);
  checkModes(blobs, { ".": 0o700, adapters: 0o700, others: 0o755 });
});

test("does not change the permissions of a folder for all users, such as /tmp", async (t) => {
  const folder = newFolder(t);
  chmodSync(folder, 0o1777);
  await keepDataPrivate({ data: folder, blobs: folder, database: placeOf(folder, "hone.db") }, silentLogger);
  assert.equal(statSync(folder).mode & 0o7777, 0o1777);
});

test("ignores a file that disappears while permissions are changed", async (t) => {
  const dataFolder = newFolder(t);
  symlinkSync("nothing", join(dataFolder, "hone.db-shm"));
  await keepDataPrivate(
    { data: dataFolder, blobs: dataFolder, database: placeOf(dataFolder, "hone.db") },
    silentLogger,
  );
});

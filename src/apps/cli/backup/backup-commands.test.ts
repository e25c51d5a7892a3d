// Tests of `hone backup` and related commands as users type them: output, streams and exit status.
import assert from "node:assert/strict";
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openSqlite } from "../../../store/database/sqlite/sqlite-dialect.ts";
import { openStores } from "../../../store/database/stores.ts";
import { sampleKey } from "../../../store/database/contract/storage-under-test.ts";
import { newestDatabaseVersion } from "../../../store/database/migrations/migrations.ts";
import { commandProcess } from "../testing/command-process.ts";

const run = commandProcess();

test("backs up a data folder, verifies and restores the backup, and exports and imports the database", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-cli-backup-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const data = join(folder, "data");
  mkdirSync(data);
  const stores = await openStores(openSqlite({ file: join(data, "hone.db"), isShared: true }));
  await stores.keys.create(sampleKey("one"));
  await stores.close();
  const hone = (...words: string[]): ReturnType<typeof run> => run(words, { folder });

  const made = await hone("backup", "copy", "--data", "data");
  assert.equal(made.status, 0, made.errors);
  assert.match(made.output, /^backed up \d+ rows and \d+ files, .*, to copy\n$/);
  assert.match(made.errors, /^access_keys: 1 row$/m);
  const again = await hone("backup", "copy", "--data", "data");
  assert.deepEqual([again.status, again.output], [1, ""]);
  assert.match(again.errors, /^hone: .*copy already holds an archive\. Name an empty/m);

  assert.deepEqual((await hone("verify", "copy")).output, "No damage found.\n");
  assert.deepEqual(JSON.parse((await hone("verify", "--data", "data", "--json")).output), []);

  const restored = await hone("restore", "copy", "--data", "restored", "--json");
  assert.equal(restored.status, 0, restored.errors);
  const { content, database, rows, faults } = JSON.parse(restored.output);
  assert.deepEqual(
    [content, database, faults],
    ["everything", { kind: "sqlite", version: newestDatabaseVersion }, []],
  );
  assert.ok(rows >= 1);
  assert.match((await hone("keys", "--data", "restored")).output, /one/);
  const full = await hone("restore", "copy", "--data", "restored");
  assert.match(full.errors, /^hone: The database .* is not empty: .*; nothing was changed\.$/m);

  assert.match((await hone("export", "moving", "--data", "data")).output, /^exported .* to moving\n$/);
  const moved = await hone("import", "moving", "--data", "moved");
  assert.match(moved.output, /^imported \d+ rows/);
  assert.match((await hone("keys", "--data", "moved")).output, /one/);

  appendFileSync(join(folder, "copy/database/access_keys.jsonl.gz"), "x");
  const damaged = await hone("verify", "copy");
  assert.equal(damaged.status, 1);
  assert.match(damaged.output, /^database\/access_keys\.jsonl\.gz: .* is damaged: it hashes to/);
  const refused = await hone("import", "copy", "--data", "third");
  assert.deepEqual([refused.status, refused.output], [1, ""]);
  assert.match(refused.errors, /is damaged/);
  const retried = await hone("import", "moving", "--data", "third");
  assert.equal(retried.status, 0, retried.errors);

  const checked = await hone("migrate", "--data", "data", "--check");
  assert.deepEqual(
    [checked.status, checked.output],
    [0, `the database has version ${newestDatabaseVersion}, the newest\n`],
  );
});

test("names a place that does not exist, is empty, or is no folder", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-cli-places-"));
  t.after(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "empty"));
  mkdirSync(join(folder, "other"));
  for (const file of ["file", "other/file"]) writeFileSync(join(folder, file), "");
  const stores = await openStores(openSqlite({ file: join(folder, "data/hone.db"), isShared: true }));
  await stores.close();
  for (const command of ["verify", "restore", "import"]) {
    const refusals: readonly (readonly [string, RegExp])[] = [
      ["nothere", /^hone: There is no archive in .*nothere: it does not exist or is empty\./],
      ["empty", /^hone: There is no archive in .*empty: it does not exist or is empty\./],
      ["file", /^hone: .*file is not a folder\.\n$/],
      ["other", /^hone: .*other is not a Hone archive: it has no manifest\.json/],
    ];
    for (const [place, expected] of refusals) {
      const { status, output, errors } = await run([command, place, "--data", "new"], { folder });
      assert.deepEqual([status, output], [1, ""], `${command} ${place}`);
      assert.match(errors, expected);
    }
  }
  assert.equal(existsSync(join(folder, "new")), false);
  for (const command of ["backup", "export"])
    for (const place of ["file", "file/below"]) {
      const { status, errors } = await run([command, place, "--data", "data"], { folder });
      assert.equal(status, 1);
      assert.match(errors, /^hone: The folder .*file cannot be used: it is not a folder\./);
    }
});

// Tests the store of compiled functions, with which a process that runs the bundle starts faster: where it is, and that
// a process works without it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { newDataFolder, removeDataFolder } from "./running-server.ts";

/** A copy of the bundle in a temporary folder, with its own folders for compiled functions. */
function copiedBundle(t: TestContext) {
  const folder = newDataFolder();
  t.after(() => removeDataFolder(folder));
  const isPart = (path: string): boolean => !path.endsWith(".map");
  cpSync(join("dist", "bundle"), join(folder, "dist", "bundle"), { recursive: true, filter: isPart });
  const [beside, ofUser] = [join(folder, "dist", "compiled"), join(folder, "user", "hone", "compiled")];
  const run = (cache = join(folder, "user")): string => {
    const script = 'const { main } = await import(process.argv[1]); await main(["jobs", "--help"]);';
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ["--input-type=module", "-e", script, join(folder, "dist", "bundle", "main.js")],
      { encoding: "utf8", env: { ...process.env, XDG_CACHE_HOME: cache } },
    );
    assert.equal(stderr, "");
    assert.match(stdout, /Usage: hone jobs/);
    return stdout;
  };
  return { run, beside, ofUser };
}

/** Returns the path of the only file with compiled functions in a folder. */
function storedFile(folder: string): string {
  const names = readdirSync(folder).filter((name) => readdirSync(join(folder, name)).includes("main"));
  assert.equal(names.length, 1);
  return join(folder, names[0] ?? "", "main");
}

test("the first process stores its compiled functions next to the bundle, and the next one reads them", (t) => {
  const { run, beside, ofUser } = copiedBundle(t);
  const first = run();
  const { size, ino } = statSync(storedFile(beside));
  assert.ok(size > 100_000, `${size} bytes`);
  assert.equal(run(), first);
  assert.equal(statSync(storedFile(beside)).ino, ino);
  assert.ok(!existsSync(ofUser));
});

test("a damaged file of compiled functions is replaced", (t) => {
  const { run, beside } = copiedBundle(t);
  const first = run();
  const file = storedFile(beside);
  const whole = readFileSync(file);
  const damaged = Buffer.from(whole);
  damaged.writeUInt8((whole[whole.length >> 1] ?? 0) ^ 0x55, whole.length >> 1);
  for (const bytes of [Buffer.alloc(0), Buffer.from("nonsense"), whole.subarray(0, 50_000), damaged]) {
    writeFileSync(file, bytes);
    assert.equal(run(), first);
    assert.ok(statSync(file).size > 100_000);
  }
});

test("if the bundle's folder is read-only, compiled functions are in the user's cache", (t) => {
  const { run, beside, ofUser } = copiedBundle(t);
  // A folder cannot be created where a file is, not even by root.
  writeFileSync(beside, "");
  const first = run();
  assert.equal(run(), first);
  assert.ok(statSync(storedFile(ofUser)).size > 100_000);
  assert.equal(run(beside), first);
});

test("folders of older builds are removed, except the newest eight", (t) => {
  const { run, beside } = copiedBundle(t);
  for (let build = 0; build < 12; build += 1) mkdirSync(join(beside, `build-${build}`), { recursive: true });
  run();
  assert.equal(readdirSync(beside).length, 9);
  storedFile(beside);
});

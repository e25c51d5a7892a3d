// In which order a folder comes to be, so that a loss of power leaves all of it or nothing; seen by what is synced when.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { test, type TestContext } from "node:test";
import { writeWholeFolder } from "./whole-folder.ts";

/** What is synced from now on: its path in the folder, and whether `folder` had its name by then. */
async function watchSyncs(t: TestContext, root: string, folder: string): Promise<readonly string[]> {
  const seen: string[] = [];
  const handle = await open(root, "r");
  // The class of file handles is not exported.
  const methods = Object.getPrototypeOf(handle) as {
    sync: (this: { readonly fd: number }) => Promise<void>;
  };
  await handle.close();
  const { sync } = methods;
  methods.sync = async function () {
    const path = relative(root, readlinkSync(`/proc/self/fd/${this.fd}`));
    seen.push(`${path || "."}${existsSync(folder) ? " after" : ""}`);
    return sync.call(this);
  };
  t.after(() => void (methods.sync = sync));
  return seen;
}

test("files and their folder are on disk before the folder has its name, and its name and those above it at last", async (t) => {
  if (!existsSync("/proc/self/fd")) return t.skip("what a handle is open on cannot be seen here");
  const root = mkdtempSync(join(tmpdir(), "hone-whole-"));
  t.after(() => rmSync(root, { recursive: true }));
  const folder = join(root, "adapters/m/1");
  const unfinished = join(root, "adapters/m/.1.tmp");
  const seen = await watchSyncs(t, root, folder);
  await writeWholeFolder({ folder, unfinished }, async () => {
    for (const name of ["a", "b"]) writeFileSync(join(unfinished, name), name);
  });
  assert.deepEqual(seen, [
    "adapters",
    ".",
    "adapters/m/.1.tmp/a",
    "adapters/m/.1.tmp/b",
    "adapters/m/.1.tmp",
    "adapters/m after",
  ]);
});

test("what fails on the way leaves what was there", async (t) => {
  const root = mkdtempSync(join(tmpdir(), "hone-whole-"));
  t.after(() => rmSync(root, { recursive: true }));
  const [folder, unfinished] = [join(root, "1"), join(root, ".1.tmp")];
  const write = (text: string) =>
    writeWholeFolder({ folder, unfinished }, async () => writeFileSync(join(unfinished, text), ""));
  await write("first");
  const failing = writeWholeFolder({ folder, unfinished }, async () => {
    writeFileSync(join(unfinished, "half"), "");
    throw new Error("no room");
  });
  await assert.rejects(failing, /no room/);
  assert.deepEqual([readdirSync(root), readdirSync(folder)], [["1"], ["first"]]);
  await write("second");
  assert.deepEqual(readdirSync(folder), ["second"]);
});

// Runs the artifact contract on each kind of store, and tests the order in which a folder is flushed to disk.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, test, type TestContext } from "node:test";
import { checkArtifacts } from "./contract/check-artifacts.ts";
import { BucketArtifacts } from "./s3/bucket-artifacts.ts";
import { startBucketServer } from "./testing/bucket-server.ts";
import { FolderArtifacts } from "./folder-artifacts.ts";
import { ServerFolder } from "./server-folder.ts";
import { memoryArtifacts, sharedMemory } from "./testing/memory-artifacts.ts";

function newRoot(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), "hone-artifacts-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

checkArtifacts("folder", (t) => {
  const root = newRoot(t);
  return (writer) => new FolderArtifacts({ root, ...writer });
});

checkArtifacts("memory", (t) => {
  const shared = sharedMemory();
  return (writer) => memoryArtifacts(shared, { scratch: newRoot(t), ...writer });
});

const buckets = await startBucketServer();
after(() => buckets.close());

checkArtifacts("bucket", (t) => {
  const bucket = buckets.newPlace();
  return (writer) => new BucketArtifacts({ bucket, cache: { folder: newRoot(t), bytesMax: 1e9 }, ...writer });
});

/**
 * Records each path below `root` that is flushed from now on. Also records whether the artifact `put` already had its
 * final name at that time.
 */
async function watchSyncs(t: TestContext, root: string, put: string): Promise<string[]> {
  const seen: string[] = [];
  const handle = await open(root, "r");
  // Gets the methods from an instance, because Node.js does not export the class of file handles.
  const methods = Object.getPrototypeOf(handle) as {
    sync: (this: { readonly fd: number }) => Promise<void>;
  };
  await handle.close();
  const { sync } = methods;
  methods.sync = async function () {
    const path = relative(root, readlinkSync(`/proc/self/fd/${this.fd}`)).replace(/\.[0-9a-f-]{36}/, "");
    seen.push(`${path || "."}${existsSync(put) ? " after" : ""}`);
    return sync.call(this);
  };
  t.after(() => void (methods.sync = sync));
  return seen;
}

test("flushes files and their folder before renaming the folder, and then its parents", async (t) => {
  if (!existsSync("/proc/self/fd")) return t.skip("what a handle is open on cannot be seen here");
  const root = newRoot(t);
  const seen = await watchSyncs(t, root, join(root, "adapters/m/1"));
  await new FolderArtifacts({ root, server: () => "s" }).put("adapters/m/1", async (folder) => {
    for (const name of ["a", "b"]) writeFileSync(join(folder, name), name);
  });
  const unfinished = "work/s/adapters+m+1";
  assert.deepEqual(seen, [
    "work",
    ".",
    `${unfinished}/a`,
    `${unfinished}/b`,
    unfinished,
    "adapters",
    ".",
    "adapters/m after",
  ]);
  assert.deepEqual(readdirSync(join(root, "work/s")), []);
});

test("flushes parent folders that another process may have created before it died, and flushes removals", async (t) => {
  if (!existsSync("/proc/self/fd")) return t.skip("what a handle is open on cannot be seen here");
  const root = newRoot(t);
  mkdirSync(join(root, "adapters/m"), { recursive: true });
  const seen = await watchSyncs(t, root, join(root, "adapters/m/1"));
  const store = new FolderArtifacts({ root, server: () => "s" });
  await store.put("adapters/m/1", async () => undefined);
  assert.deepEqual(seen.slice(-3), ["adapters", ".", "adapters/m after"]);
  await store.put("adapters/m/2", async () => undefined);
  await store.remove("adapters/m/2");
  assert.equal(seen.at(-1), "adapters/m after");
  await store.remove("adapters/m/1");
  assert.equal(seen.at(-1), "adapters", "the folder that was left empty went too");
});

test("flushes the root folder on first use, even if another process created it", async (t) => {
  if (!existsSync("/proc/self/fd")) return t.skip("what a handle is open on cannot be seen here");
  const parent = newRoot(t);
  const root = join(parent, "data");
  const store = new FolderArtifacts({ root, server: () => "s" });
  const seen = await watchSyncs(t, parent, join(root, "artifacts-id"));
  const id = await store.placeId();
  assert.deepEqual(seen.slice(-2), [". after", "data after"]);
  seen.splice(0);
  assert.equal(await new FolderArtifacts({ root, server: () => "two" }).placeId(), id);
  assert.deepEqual(seen, [". after", "data after"]);
});

test("removes only those unfinished writes of an artifact that dead processes of this server left behind", async (t) => {
  const root = newRoot(t);
  const store = new FolderArtifacts({ root, server: () => "s" });
  const left = ["adapters+m+1.a", "adapters+m+1+state.b", "adapters+m+10.c", "adapters+m+2.d"];
  for (const name of left) mkdirSync(join(root, "work/s", name), { recursive: true });
  await store.removeUnfinished("adapters/m/1");
  assert.deepEqual(readdirSync(join(root, "work/s")).toSorted(), left.slice(2));
});

test("removes a server's scratch folder after use, and at the latest after its lease has ended", async (t) => {
  const root = newRoot(t);
  const [one, two] = ["one", "two"].map((server) => new ServerFolder({ root, server: () => server }));
  const scratch = await one.withScratch(async (folder) => {
    writeFileSync(join(folder, "half"), "");
    assert.deepEqual(await two.sweep(async (server) => server === "one"), []);
    assert.deepEqual(readdirSync(folder), ["half"]);
    return folder;
  });
  assert.equal(existsSync(scratch), false);
  const caches = [one.cacheOf("/elsewhere/model"), one.cacheOf(join(root, "models/added/model.gguf"))];
  for (const cache of caches) {
    mkdirSync(cache, { recursive: true });
    for (const name of ["weights", "weights.7.partial"]) writeFileSync(join(cache, name), "");
  }
  const partials = ["cache/weights.7.partial", "models/added/.cache/weights.7.partial"];
  assert.deepEqual(await two.sweep(async () => false), ["work/one", ...partials]);
  for (const cache of caches) assert.deepEqual(readdirSync(cache), ["weights"]);
});

test("caches data of an added model in that model's folder, and data of other models in a common folder", () => {
  const folder = new ServerFolder({ root: "/data", server: () => "s" });
  for (const path of ["/models/a", "/data", "/data/models", "/data/modelsx/a", "/data/other/models/a"])
    assert.equal(folder.cacheOf(path), "/data/cache", path);
  for (const path of ["/data/models/a", "/data/models/a/a.gguf", "/data/models/a/.cache/1.gguf-model"])
    assert.equal(folder.cacheOf(path), "/data/models/a/.cache", path);
});

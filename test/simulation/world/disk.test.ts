// Compares the simulated disk with the real one: the same calls must have the same results and error codes. Also tests
// its behaviour in a power failure, which the real disk cannot show.
import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { FolderArtifacts } from "../../../src/store/artifacts/folder-artifacts.ts";
import { type Random, seededRandom } from "../../../src/base/domain/random.ts";
import { searchSeeds } from "../../../src/base/domain/testing/search.ts";
import { SimulatedDisk } from "./disk.ts";
import { beginWorld, endWorld, mountDisk, rootOf } from "./node-world.ts";
import { SimulatedProcess } from "./process.ts";
import { Scheduler } from "./scheduler.ts";

const names = ["a", "b", "c"];

/** Returns a random call. When the call runs, it describes its return value or the code of its error. */
function drawCall(random: Random): (root: string) => Promise<string> {
  const path = (): string => {
    const depth = 1 + random.index(3);
    return Array.from({ length: depth }, () => names[random.index(names.length)]).join("/");
  };
  const [one, other, text] = [path(), path(), String(random.index(1000))];
  const at = (root: string, name: string): string => join(root, name);
  const calls: readonly (readonly [what: string, call: (root: string) => Promise<unknown>])[] = [
    ["mkdir", (root) => fs.mkdir(at(root, one))],
    [
      "mkdir all",
      (root) => fs.mkdir(at(root, one), { recursive: true }).then((first) => first?.slice(root.length)),
    ],
    ["writeFile", (root) => fs.writeFile(at(root, one), text)],
    ["readFile", (root) => fs.readFile(at(root, one), "utf8")],
    ["readdir", async (root) => (await fs.readdir(at(root, one))).toSorted()],
    ["rename", (root) => fs.rename(at(root, one), at(root, other))],
    ["link", (root) => fs.link(at(root, one), at(root, other))],
    ["rm all", (root) => fs.rm(at(root, one), { recursive: true, force: true })],
    ["rm", (root) => fs.rm(at(root, one))],
    ["rmdir", (root) => fs.rmdir(at(root, one))],
    ["stat", async (root) => (await fs.stat(at(root, one))).isDirectory()],
    [
      "open",
      async (root) => {
        const handle = await fs.open(at(root, one), "wx");
        await handle.appendFile(text);
        await handle.sync();
        await handle.close();
      },
    ],
  ];
  const [what, call] = calls[random.index(calls.length)];
  const told = (result: string): string => `${what} ${one} ${other}: ${result}`;
  return (root) =>
    call(root).then(
      (result) => told(JSON.stringify(result) ?? "done"),
      (error: unknown) =>
        told(error instanceof Error && "code" in error ? String(error.code) : String(error)),
    );
}

/** Runs a process on a disk that never fails. */
async function onDisk<Result>(seed: number, work: (root: string, disk: SimulatedDisk) => Promise<Result>) {
  const scheduler = new Scheduler(seed);
  const disk = new SimulatedDisk(() => scheduler.nowMs);
  const process = new SimulatedProcess(scheduler, 1);
  beginWorld(scheduler.random);
  try {
    mountDisk({ disk, process, scheduler, faults: { delayMs: () => 1, failure: () => null } });
    let result: Result | undefined;
    const working = work(rootOf(1), disk).then((given) => void (result = given));
    let isOver = false;
    void working.finally(() => (isOver = true)).catch(() => undefined);
    assert.ok(await scheduler.run(() => isOver, Infinity));
    await working;
    return result;
  } finally {
    endWorld();
  }
}

test("calls have the same results and error codes as on a real disk", async (t) => {
  if (process.platform === "win32") return t.skip("its codes are others");
  const told = new Set<string>();
  for (const seed of searchSeeds(40)) {
    const random = seededRandom("disk calls", seed);
    const calls = Array.from({ length: 60 }, () => drawCall(random));
    const real: string[] = [];
    const folder = mkdtempSync(join(tmpdir(), "hone-disk-"));
    try {
      for (const call of calls) real.push(await call(folder));
    } finally {
      rmSync(folder, { recursive: true });
    }
    const simulated: string[] = [];
    await onDisk(seed, async (root) => {
      for (const call of calls) simulated.push(await call(root));
    });
    assert.deepEqual(simulated, real, `seed ${seed}`);
    for (const one of real) told.add(/[A-Z_]*$/.exec(one)?.[0] ?? "");
  }
  for (const code of ["EEXIST", "EISDIR", "ENOENT", "ENOTDIR", "ENOTEMPTY"]) assert.ok(told.has(code), code);
});

/**
 * Makes writes and then a power failure many times. Returns all resulting contents of the disk, each as `path:
 * content`.
 */
async function leftOf(write: (root: string) => Promise<void>): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for (let draw = 0; draw < 60; draw++) {
    const left = await onDisk(draw, async (root, disk) => {
      await write(root);
      disk.losePower(seededRandom("power", draw));
      const content = await fs.readFile(join(root, "folder/file"), "utf8").catch(() => null);
      return content === null ? "nothing" : JSON.stringify(content);
    });
    found.add(left ?? "");
  }
  return found;
}

async function sync(path: string): Promise<void> {
  const handle = await fs.open(path, "r");
  await handle.sync();
  await handle.close();
}

test("in a power failure unsynced content may be lost or torn, and synced content survives", async () => {
  const folder = (root: string): string => join(root, "folder");
  const file = (root: string): string => join(root, "folder/file");
  const write = async (root: string): Promise<void> => {
    await fs.mkdir(folder(root));
    await fs.writeFile(file(root), "text");
  };
  const torn = ["nothing", '""', '"text"', '"te"', '"te\\u0000\\u0000"'];
  const unsynced = await leftOf(write);
  for (const one of torn) assert.ok(unsynced.has(one), `${one} is not among ${[...unsynced].join(" ")}`);
  const ofContent = await leftOf(async (root) => {
    await write(root);
    await sync(folder(root));
    await sync(root);
  });
  assert.ok(
    !ofContent.has("nothing") && ofContent.has('"te"'),
    "a name that is kept says nothing of content",
  );
  const ofName = await leftOf(async (root) => {
    await write(root);
    await sync(file(root));
    await sync(root);
  });
  assert.deepEqual([...ofName].toSorted(), ['"text"', "nothing"], "nor content of a name");
  const ofParent = await leftOf(async (root) => {
    await write(root);
    await sync(file(root));
    await sync(folder(root));
  });
  assert.deepEqual([...ofParent].toSorted(), ['"text"', "nothing"], "nor that of its folder's");
  const ofAll = await leftOf(async (root) => {
    await write(root);
    for (const path of [file(root), folder(root), root]) await sync(path);
    await fs.rm(file(root));
  });
  assert.deepEqual(
    [...ofAll].toSorted(),
    ['"text"', "nothing"],
    "a removal that was not synced may be undone",
  );
  const ofMove = await leftOf(async (root) => {
    await fs.mkdir(join(root, "earlier"));
    await fs.mkdir(join(root, "earlier/folder"));
    await fs.writeFile(join(root, "earlier/folder/file"), "text");
    for (const path of ["earlier/folder/file", "earlier/folder", "earlier"]) await sync(join(root, path));
    await fs.rename(join(root, "earlier/folder"), folder(root));
    await sync(root);
  });
  assert.deepEqual(
    [...ofMove],
    ['"text"'],
    "a folder is where it was synced last, though where it was is not",
  );
});

test("files that a dead server removed stay removed after the next server's sweep, even if the power fails right after it", async () => {
  for (let draw = 0; draw < 20; draw++) {
    const isLeft = await onDisk(draw, async (world, disk) => {
      const root = join(world, "blobs");
      const storeOf = (server: string): FolderArtifacts =>
        new FolderArtifacts({ root, server: () => server });
      const dying = storeOf("dying");
      await dying.placeId();
      await dying.put("adapters/model/1", (folder) => fs.writeFile(join(folder, "weights"), "text"));
      await dying.hold("adapters/model");
      await fs.rm(join(root, "adapters/model"), { recursive: true });
      const among = { isLive: async () => false, isKnown: async () => false };
      assert.deepEqual(await storeOf("next").sweepAbandoned(among), []);
      disk.losePower(seededRandom("power", draw));
      return (await fs.readdir(join(root, "adapters")).catch(() => [])).length > 0;
    });
    assert.equal(isLeft, false);
  }
});

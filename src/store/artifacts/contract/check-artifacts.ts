// The contract that each kind of artifact store must pass. One server uses the store, or two servers share it, and
// either may die.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ArtifactStore, ArtifactWriter } from "../artifact-store.ts";
import { hashOfFiles } from "../seal.ts";

/** Creates an empty storage, which is deleted after the test. Returns a function that opens it for a server. */
export type MakeArtifacts = (context: TestContext) => (writer: ArtifactWriter) => ArtifactStore;

const put = (store: ArtifactStore, key: string, ...names: readonly string[]): Promise<void> =>
  store.put(key, async (folder) => {
    for (const name of names) writeFileSync(join(folder, name), `${key}: ${name}`);
  });

const putFile = (store: ArtifactStore, key: string, text: string): Promise<void> =>
  store.putFile(key, async (file) => writeFileSync(file, text));

const everything = { isLive: async () => false, isKnown: async () => false };

/** Registers the contract's tests for one kind of store. */
export function checkArtifacts(name: string, make: MakeArtifacts): void {
  const opened = (t: TestContext): ArtifactStore => make(t)({ server: () => "one" });

  test(`${name}: gives each location a unique id, which all its servers get`, async (t) => {
    const open = make(t);
    const doors = ["one", "two", "three"].map((server) => open({ server: () => server }));
    const [id, ...others] = await Promise.all(doors.map((door) => door.placeId()));
    assert.deepEqual(others, [id, id]);
    assert.notEqual(await opened(t).placeId(), id);
    assert.deepEqual(await doors[0].names("adapters"), []);
  });

  test(`${name}: stores an artifact under its key, and removes it with everything below`, async (t) => {
    const store = opened(t);
    await put(store, "adapters/m/1", "a", "b");
    await putFile(store, "adapters/m/1/state", "moments");
    await put(store, "adapters/m/2", "a");
    assert.deepEqual((await store.names("adapters/m")).toSorted(), ["1", "2"]);
    const path = await store.path("adapters/m/1", null);
    for (const name of ["a", "b"]) assert.ok(readdirSync(path).includes(name));
    const local = await store.localPath("adapters/m/1");
    assert.ok(local === null || local === path);
    assert.equal(readFileSync(join(path, "a"), "utf8"), "adapters/m/1: a");
    assert.equal(readFileSync(await store.path("adapters/m/1/state", null), "utf8"), "moments");
    assert.equal(String(await buffer(await store.open("adapters/m/1/state"))), "moments");
    await store.remove("adapters/m/1/state");
    assert.deepEqual([await store.has("adapters/m/1"), await store.has("adapters/m/1/state")], [true, false]);
    await store.remove("adapters/m");
    await store.remove("adapters/m");
    assert.deepEqual([await store.has("adapters/m/2"), await store.names("adapters/m")], [false, []]);
    assert.equal(existsSync(await store.path("adapters/m/2", null)), false);
    await assert.rejects(store.open("adapters/m/1/state"), { code: "not_found" });
  });

  test(`${name}: replaces an artifact, and keeps the old one if the write fails`, async (t) => {
    const store = opened(t);
    await put(store, "adapters/m/1", "first", "more");
    await putFile(store, "files/f", "first");
    const fault = new Error("no room");
    const failing = async (path: string): Promise<void> => {
      writeFileSync(existsSync(path) ? join(path, "half") : path, "");
      throw fault;
    };
    await assert.rejects(store.put("adapters/m/1", failing), fault);
    await assert.rejects(store.putFile("files/f", failing), fault);
    assert.deepEqual(readdirSync(await store.path("adapters/m/1", null)).toSorted(), ["first", "more"]);
    assert.equal(String(await buffer(await store.open("files/f"))), "first");
    await put(store, "adapters/m/1", "second");
    await putFile(store, "files/f", "second");
    assert.deepEqual(readdirSync(await store.path("adapters/m/1", null)), ["second"]);
    assert.equal(String(await buffer(await store.open("files/f"))), "second");
  });

  test(`${name}: makes copies that later changes do not affect`, async (t) => {
    const store = opened(t);
    const place = mkdtempSync(join(tmpdir(), "hone-copies-"));
    t.after(() => rmSync(place, { recursive: true }));
    await put(store, "adapters/m/1", "a", "b");
    await putFile(store, "adapters/m/1/state", "moments");
    await putFile(store, "files/f", "bytes");
    assert.equal(await store.copyTo("adapters/m/1", join(place, "one")), true);
    assert.equal(await store.copyTo("files/f", join(place, "file")), true);
    await store.remove("adapters/m/1");
    await putFile(store, "files/f", "others");
    assert.deepEqual(readdirSync(join(place, "one")).toSorted(), ["a", "b", "state"]);
    assert.equal(readFileSync(join(place, "one", "a"), "utf8"), "adapters/m/1: a");
    assert.equal(readFileSync(join(place, "file"), "utf8"), "bytes");
    assert.equal(await store.copyTo("adapters/m/1", join(place, "two")), false);
  });

  test(`${name}: accepts only the content that a seal describes, and ignores other files`, async (t) => {
    const store = opened(t);
    const files = ["a", "b"];
    const hash = await store.put("adapters/m/1", async (folder) => {
      for (const file of files) writeFileSync(join(folder, file), file);
      return hashOfFiles(folder, files);
    });
    await putFile(store, "adapters/m/1/state", "moments");
    const seal = { what: "adapter", files, hash };
    assert.equal(await store.path("adapters/m/1", seal), await store.path("adapters/m/1", null));
    const damaged = {
      code: "conflict",
      message: /The adapter on disk is not the one that was stored: its files hash to/,
    };
    await put(store, "adapters/m/1", ...files);
    await assert.rejects(store.path("adapters/m/1", seal), damaged);
    await assert.rejects(store.path("adapters/m/2", seal), { code: "conflict" });
  });

  test(`${name}: stores nothing and changes nothing when mayPut throws`, async (t) => {
    const open = make(t);
    const successor = open({ server: () => "two" });
    let isOrphan = false;
    const orphan = open({
      server: () => "one",
      mayPut: async () => {
        if (isOrphan) throw new ServiceError({ code: "cancelled", message: "nobody waits" });
      },
    });
    const publishing = orphan.put("adapters/m/1", async (folder) => {
      writeFileSync(join(folder, "of the orphan"), "");
      await put(successor, "adapters/m/1", "of its successor");
      isOrphan = true;
    });
    await assert.rejects(publishing, { code: "cancelled" });
    assert.deepEqual(readdirSync(await successor.path("adapters/m/1", null)), ["of its successor"]);
    // If a `put` has its own check (`mayPut`), the store calls that check besides the store's own check. It calls it
    // only after the files are written.
    let isWritten = false;
    const write = async (folder: string): Promise<void> => {
      writeFileSync(join(folder, "of another"), "");
      isWritten = true;
    };
    const mayPut = async (): Promise<void> => {
      assert.ok(isWritten);
      throw new ServiceError({ code: "conflict", message: "it is another's" });
    };
    await assert.rejects(successor.put("adapters/m/1", write, { mayPut }), { code: "conflict" });
    assert.deepEqual(readdirSync(await successor.path("adapters/m/1", null)), ["of its successor"]);
  });

  test(`${name}: keeps unfinished writes of live servers at a start, and removes those of dead ones`, async (t) => {
    const open = make(t);
    const [first, second] = [open({ server: () => "one" }), open({ server: () => "two" })];
    let isLive = true;
    const sweep = () =>
      second.sweepAbandoned({
        isLive: async (server) => isLive && server === "one",
        isKnown: async () => false,
      });
    await first.put("adapters/m/1", async (folder) => {
      writeFileSync(join(folder, "a"), "");
      assert.deepEqual(await sweep(), []);
      writeFileSync(join(folder, "b"), "");
    });
    assert.deepEqual(readdirSync(await second.path("adapters/m/1", null)).toSorted(), ["a", "b"]);
    await first.hold("adapters/n");
    await put(first, "adapters/n/1", "a");
    assert.deepEqual([await sweep(), await second.has("adapters/n/1")], [[], true]);
    isLive = false;
    assert.deepEqual([await sweep(), await second.has("adapters/n/1")], [["adapters/n"], false]);
    assert.deepEqual([await sweep(), await second.has("adapters/m/1")], [[], true]);
  });

  test(`${name}: keeps an artifact whose hold was released or whose owner is known`, async (t) => {
    const store = opened(t);
    for (const key of ["adapters/kept", "adapters/known", "adapters/gone"]) {
      await store.hold(key);
      await put(store, `${key}/1`, "a");
    }
    await store.hold("adapters/never-put");
    await store.release("adapters/kept");
    await store.release("adapters/kept");
    const removed = await store.sweepAbandoned({
      ...everything,
      isKnown: async (key) => key.endsWith("known"),
    });
    assert.deepEqual(removed, ["adapters/gone"]);
    assert.deepEqual((await store.names("adapters")).toSorted(), ["kept", "known"]);
    assert.deepEqual(await store.sweepAbandoned(everything), []);
  });

  test(`${name}: sweeps only artifacts that are old and unknown`, async (t) => {
    const store = opened(t);
    await putFile(store, "files/unknown", "a");
    await putFile(store, "files/known", "a");
    const isKnown = async (key: string): Promise<boolean> => key === "files/known";
    const [before, after] = [new Date(0), new Date(8.64e15)];
    assert.deepEqual(await store.sweep("files", { olderThan: before, isKnown }), []);
    assert.deepEqual(await store.sweep("files", { olderThan: after, isKnown }), ["files/unknown"]);
    assert.deepEqual(await store.names("files"), ["known"]);
    assert.deepEqual(await store.sweep("nothing", { olderThan: after, isKnown }), []);
  });
}

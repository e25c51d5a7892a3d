// Tests the folder of added models: complete models, resumed additions, sweeping and locks.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { systemClock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { HubSource } from "./added-model.ts";
import { ModelLibrary } from "./model-library.ts";

const source: HubSource = {
  kind: "hub",
  endpoint: "https://hub",
  repository: "o/n",
  revision: "main",
  commit: "abc",
  quantization: null,
};

function opened(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "hone-models-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const held = new Set<string>();
  const takeLock = (file: string) => {
    if (held.has(file)) throw new ServiceError({ code: "conflict", message: "locked" });
    held.add(file);
    return { release: () => void held.delete(file) };
  };
  return { folder, library: new ModelLibrary({ folder, takeLock, clock: systemClock }) };
}

const files = [{ name: "config.json", bytes: 2, checksum: null }];

function write(work: string) {
  writeFileSync(join(work, "config.json"), "{}");
  return Promise.resolve({ license: null, files });
}

const kept = async () => undefined;

test("lists no models if the folder's path is below a file", (t) => {
  const { folder } = opened(t);
  const file = join(folder, "file");
  writeFileSync(file, "");
  const library = new ModelLibrary({
    folder: join(file, "models"),
    takeLock: () => ({ release: () => undefined }),
    clock: systemClock,
  });
  assert.deepEqual([library.list(), library.listUnfinished()], [[], []]);
});

test("resumes a failed addition from the same source, and starts anew for another", async (t) => {
  const { library, folder } = opened(t);
  const fails = (work: string) => {
    writeFileSync(join(work, "half"), "x");
    return Promise.reject(new ServiceError({ code: "unavailable", message: "no" }));
  };
  const seen = (from: HubSource): Promise<readonly string[]> => {
    let names: readonly string[] = [];
    const look = (work: string) => {
      names = readdirSync(work);
      return Promise.reject(new ServiceError({ code: "unavailable", message: "no" }));
    };
    return library.add("a", from, look).then(
      (): readonly string[] => [],
      () => names,
    );
  };
  await assert.rejects(library.add("a", source, fails));
  assert.deepEqual((await seen(source)).includes("half"), true);
  assert.deepEqual((await seen({ ...source, commit: "def" })).includes("half"), false);
  assert.deepEqual(library.list(), []);
  assert.deepEqual(library.listUnfinished(), [{ name: "a", source: { ...source, commit: "def" } }]);
  const added = await library.add("a", source, write);
  assert.deepEqual(library.list(), [added]);
  assert.deepEqual(readdirSync(join(folder, "a")).toSorted(), [".hone-model", "config.json"]);
});

test("sweeps additions idle for a week at the next addition, and keeps newer ones", async (t) => {
  const { library, folder } = opened(t);
  for (const [name, ageDays] of [
    ["old", 8],
    ["new", 1],
  ] as const) {
    const work = join(folder, ".unfinished", name);
    mkdirSync(work, { recursive: true });
    writeFileSync(join(work, ".source"), JSON.stringify(source));
    const at = new Date(Date.now() - ageDays * 24 * 3600 * 1000);
    utimesSync(join(work, ".source"), at, at);
  }
  await library.add("a", source, write);
  assert.deepEqual(readdirSync(join(folder, ".unfinished")), ["new"]);
});

test("refuses two processes adding one model, and allows two models concurrently", async (t) => {
  const { library } = opened(t);
  const added = await library.add("a", source, async (work) => {
    await assert.rejects(library.add("a", source, write), {
      code: "conflict",
      message: /Another command is adding or removing a/,
    });
    await assert.rejects(library.remove("a", kept), { code: "conflict" });
    await library.add("b", source, write);
    return write(work);
  });
  assert.deepEqual(
    library.list().map(({ name }) => name),
    ["a", "b"],
  );
  assert.equal(added.name, "a");
});

test("removes a complete model unless it is needed, and an unfinished one too", async (t) => {
  const { library, folder } = opened(t);
  await library.add("a", source, write);
  const needed = new ServiceError({ code: "conflict", message: "needed" });
  await assert.rejects(
    library.remove("a", () => Promise.reject(needed)),
    needed,
  );
  assert.equal(library.list().length, 1);
  await library.remove("a", kept);
  assert.deepEqual([library.list(), existsSync(join(folder, "a"))], [[], false]);
  for (const name of ["a", "../a", ".locks", ""])
    await assert.rejects(library.remove(name, kept), { code: "not_found" });
  await assert.rejects(library.add("a", source, () => Promise.reject(new Error("cut"))));
  await library.remove("a", kept);
  assert.deepEqual(library.listUnfinished(), []);
});

test("ignores foreign folders, and names an unreadable record", async (t) => {
  const { library, folder } = opened(t);
  mkdirSync(join(folder, "theirs"));
  assert.deepEqual(library.list(), []);
  await assert.rejects(
    library.add("theirs", source, write).then(() => library.add("theirs", source, write)),
    { code: "conflict" },
  );
  mkdirSync(join(folder, "broken"));
  writeFileSync(join(folder, "broken/.hone-model"), '{"format": 9}');
  assert.throws(() => library.list(), {
    code: "invalid",
    message: /broken.*not what `hone models add` writes/,
  });
});

// Tests of archives: a consistent snapshot despite concurrent removals, reported faults, restoring and verifying, and
// reading with standard tools.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { test, type TestContext } from "node:test";
import { dataFolderAt } from "../../store/artifacts/testing/data-folder.ts";
import { hashOfFiles } from "../../store/artifacts/seal.ts";
import type { FolderArtifacts } from "../../store/artifacts/folder-artifacts.ts";
import type { Cell } from "../../base/domain/backup/tables.ts";
import { openArchive } from "./archive/archive-reader.ts";
import { folderPlace } from "./archive/folder-place.ts";
import type { Fault } from "./fault.ts";
import { type Manifest, manifestText } from "./archive/manifest.ts";
import { makeBackup, makeExport } from "./make-archive.ts";
import { restoreArchive } from "./restore-archive.ts";
import { MemoryDatabase } from "./testing/memory-database.ts";
import { verifyArchive } from "./verify-archive.ts";
import { verifyServer } from "./verify-server.ts";

const now = new Date(Date.UTC(2026, 10, 26, 10));
const sealed = ["adapter_config.json", "adapter_model.safetensors"];
const silent = { report: () => undefined, signal: new AbortController().signal };

const anyTables = async (): Promise<void> => undefined;

interface Place {
  readonly root: string;
  readonly database: MemoryDatabase;
  readonly artifacts: FolderArtifacts;
  /** Writes a version's adapter, then adds the version to the database. */
  readonly publish: (modelId: string, step: number) => Promise<void>;
  /** Removes a version from the database, then its files. */
  readonly remove: (modelId: string, step: number) => Promise<void>;
  readonly backUp: (name: string, signal?: AbortSignal) => Promise<Manifest>;
}

async function place(t: TestContext): Promise<Place> {
  const root = mkdtempSync(join(tmpdir(), "hone-backup-"));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const database = new MemoryDatabase();
  const { artifacts } = dataFolderAt(join(root, "data"));
  await artifacts.putFile("files/f", async (file) => writeFileSync(file, "file"));
  database.content = { models: [["m"]], model_versions: [["m", 0, null, null, 0]], files: [["f", 4]] };
  const staging = join(root, "staging");
  mkdirSync(staging);
  const versions = (): readonly (readonly Cell[])[] => database.content["model_versions"] ?? [];
  return {
    root,
    database,
    artifacts,
    publish: async (modelId, step) => {
      const key = `adapters/${modelId}/${step}`;
      const hash = await artifacts.put(key, async (folder) => {
        for (const name of sealed) writeFileSync(join(folder, name), `${key} ${name}`);
        writeFileSync(join(folder, "optimizer.safetensors"), "state");
        return hashOfFiles(folder, sealed);
      });
      const row = [modelId, step, key, hash, 0];
      database.content = { ...database.content, model_versions: [...versions(), row] };
    },
    remove: async (modelId, step) => {
      const key = `adapters/${modelId}/${step}`;
      const rows = versions().map((row) => (row[2] === key ? [modelId, step, key, row[3], 1] : row));
      database.content = { ...database.content, model_versions: rows };
      await artifacts.remove(key);
    },
    backUp: (name, signal = silent.signal) =>
      makeBackup(
        { tables: database, artifacts, staging, clock: { now: () => now } },
        { place: folderPlace(join(root, name)), program: "1.0.0", report: () => undefined, signal },
      ),
  };
}

async function faultsOf(faults: AsyncIterable<Fault>): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { what, message } of faults) {
    assert.ok(message.length > 0);
    found.push(what);
  }
  return found;
}

test("backs up everything in the snapshot, so that sha256sum and zcat can read it", async (t) => {
  const { root, publish, backUp, database } = await place(t);
  await publish("m", 1);
  const manifest = await backUp("one");
  assert.deepEqual(
    [manifest.content, manifest.createdAt, manifest.program, manifest.faults],
    ["everything", now.toISOString(), "1.0.0", []],
  );
  const folder = join(root, "one");
  const checked = execFileSync("sha256sum", ["--check", "--strict", "SHA256SUMS"], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(checked.trim().split("\n").length, manifest.files);
  const rows = execFileSync("zcat", ["database/model_versions.jsonl.gz"], { cwd: folder, encoding: "utf8" });
  assert.deepEqual(
    rows
      .trim()
      .split("\n")
      .map((line): unknown => JSON.parse(line)),
    database.content["model_versions"],
  );
  assert.equal(readFileSync(join(folder, "adapters/m/1/optimizer.safetensors"), "utf8"), "state");
  assert.equal(readFileSync(join(folder, "files/f"), "utf8"), "file");
  assert.deepEqual(await faultsOf(verifyArchive(folderPlace(folder), anyTables, silent)), []);
  assert.equal(database.openSnapshots, 0);
  assert.deepEqual(readdirSync(join(root, "staging")), []);
});

test("takes a second snapshot if a version is removed right after the first one", async (t) => {
  const { root, publish, remove, database } = await place(t);
  await publish("m", 1);
  await publish("m", 2);
  const going = [1, 2];
  let removing: Promise<unknown> = Promise.resolve();
  database.afterSnapshot = () => {
    const step = going.shift();
    if (step !== undefined) removing = remove("m", step);
  };
  const { artifacts } = dataFolderAt(join(root, "data"));
  const waiting = {
    copyTo: async (key: string, path: string) => (await removing, artifacts.copyTo(key, path)),
  };
  const manifest = await makeBackup(
    { tables: database, artifacts: waiting, staging: join(root, "staging"), clock: { now: () => now } },
    { place: folderPlace(join(root, "one")), program: "1.0.0", ...silent },
  );
  assert.deepEqual(manifest.faults, []);
  assert.deepEqual(await faultsOf(verifyArchive(folderPlace(join(root, "one")), anyTables, silent)), []);
  // Version 2 was removed only after the second snapshot, which therefore contains it.
  assert.deepEqual(readdirSync(join(root, "one", "adapters/m")), ["2"]);
  assert.equal(await artifacts.has("adapters/m/2"), false);
  assert.equal(database.openSnapshots, 0);
});

test("backs up a version whose files are removed while the tables are written", async (t) => {
  const { root, publish, remove, database, artifacts } = await place(t);
  await publish("m", 1);
  const report = (progress: { readonly kind: string }): void => {
    // The staging folder already has links to the files, so the backup needs their originals no longer.
    if (progress.kind === "table") rmSync(join(root, "data", "adapters"), { recursive: true, force: true });
  };
  const manifest = await makeBackup(
    { tables: database, artifacts, staging: join(root, "staging"), clock: { now: () => now } },
    { place: folderPlace(join(root, "one")), program: "1.0.0", report, signal: silent.signal },
  );
  await remove("m", 1);
  assert.deepEqual(manifest.faults, []);
  assert.deepEqual(await faultsOf(verifyArchive(folderPlace(join(root, "one")), anyTables, silent)), []);
  assert.ok(existsSync(join(root, "one", "adapters/m/1/adapter_config.json")));
});

test("reports lost or changed artifacts as faults, and backs up the rest", async (t) => {
  const { root, publish, backUp, database, artifacts } = await place(t);
  for (const step of [1, 2, 3]) await publish("m", step);
  rmSync(join(root, "data/adapters/m/1"), { recursive: true });
  appendFileSync(join(root, "data/adapters/m/2/adapter_config.json"), " ");
  appendFileSync(join(root, "data/files/f"), "!");
  const named = ["adapters/m/1", "adapters/m/2", "files/f"];
  const manifest = await backUp("one");
  assert.deepEqual(
    manifest.faults.map(({ what }) => what),
    named,
  );
  assert.deepEqual(await faultsOf(verifyArchive(folderPlace(join(root, "one")), anyTables, silent)), named);
  database.faults = ["a page is torn"];
  assert.deepEqual(await faultsOf(verifyServer({ tables: database, artifacts }, silent)), [
    "database",
    ...named,
  ]);
});

test("reports damaged, missing and surplus files", async (t) => {
  const { root, publish, backUp } = await place(t);
  await publish("m", 1);
  await backUp("one");
  const folder = join(root, "one");
  const cases: readonly (readonly [string, (path: string) => void])[] = [
    ["adapters/m/1/adapter_model.safetensors", (path) => appendFileSync(path, "x")],
    ["adapters/m/1/optimizer.safetensors", (path) => rmSync(path)],
    ["files/f", (path) => writeFileSync(path, "flie")],
    ["database/models.jsonl.gz", (path) => appendFileSync(path, "x")],
    ["database/files.jsonl.gz", (path) => rmSync(path)],
    ["adapters/m/1/more", (path) => writeFileSync(path, "")],
    ["more", (path) => writeFileSync(path, "")],
    ["SHA256SUMS", (path) => appendFileSync(path, "x")],
    ["manifest.json", (path) => writeFileSync(path, readFileSync(path, "utf8").replace('"m', '"n'))],
    ["manifest.json", (path) => writeFileSync(path, "{")],
  ];
  for (const [path, damage] of cases) {
    const copy = join(root, "copy");
    execFileSync("cp", ["-r", folder, copy]);
    damage(join(copy, path));
    const found = await faultsOf(verifyArchive(folderPlace(copy), anyTables, silent));
    const expected = path === "SHA256SUMS" ? "manifest.json" : path;
    assert.deepEqual(found, [expected], path);
    rmSync(copy, { recursive: true });
  }
  await assert.rejects(faultsOf(verifyArchive(folderPlace(join(root, "none")), anyTables, silent)), {
    code: "not_found",
  });
});

/**
 * Kinds of entries that are not plain files. Each has a name, a function that creates such an entry, and a pattern that
 * its description matches.
 */
const otherKinds: readonly (readonly [string, (path: string) => unknown, RegExp])[] = [
  ["a named pipe", (path) => execFileSync("mkfifo", [path]), /is a named pipe/],
  ["a link to the same bytes", (path) => linkToCopy(path), /is a symbolic link/],
  ["a link to a device", (path) => symlinkSync("/dev/zero", path), /is a symbolic link/],
  ["a link to itself", (path) => symlinkSync(path, path), /is a symbolic link/],
  ["a folder", (path) => mkdirSync(path), /is a folder/],
  ["a socket", (path) => bindSocket(path), /is a socket/],
];

function linkToCopy(path: string): void {
  symlinkSync(path.replace("/copy/", "/one/"), path);
}

/** Creates a socket. Its file remains because the process that bound it is killed. */
function bindSocket(path: string): void {
  const program = `require("net").createServer().listen("s", () => process.kill(process.pid, "SIGKILL"))`;
  spawnSync(process.execPath, ["-e", program], { cwd: dirname(path) });
  renameSync(join(dirname(path), "s"), path);
}

test(
  "reports entries of an archive that are not plain files, and never opens them",
  { skip: process.platform === "win32", timeout: 120_000 },
  async (t) => {
    const { root, publish, backUp } = await place(t);
    await publish("m", 1);
    await backUp("one");
    const copy = join(root, "copy");
    for (const path of [
      "adapters/m/1/adapter_config.json",
      "files/f",
      "database/models.jsonl.gz",
      "SHA256SUMS",
      "manifest.json",
    ])
      for (const [kind, put, expected] of otherKinds) {
        execFileSync("cp", ["-r", join(root, "one"), copy]);
        rmSync(join(copy, path));
        put(join(copy, path));
        const found: Fault[] = [];
        for await (const fault of verifyArchive(folderPlace(copy), anyTables, silent)) found.push(fault);
        const named = path === "SHA256SUMS" ? "manifest.json" : path;
        const said = found.filter(({ what, message }) => what === named && expected.test(message));
        assert.equal(said.length, 1, `${path} is ${kind}: ${JSON.stringify(found)}`);
        assert.ok(said[0]?.message.includes(path), said[0]?.message);
        const { artifacts } = dataFolderAt(join(root, "restored"));
        const restored = openArchive(folderPlace(copy)).then((archive) =>
          restoreArchive(archive, { tables: new MemoryDatabase(), artifacts }, silent),
        );
        await assert.rejects(restored, { code: "invalid", message: expected });
        rmSync(copy, { recursive: true });
        rmSync(join(root, "restored"), { recursive: true, force: true });
      }
  },
);

test(
  "reports entries of a data folder that are not plain files, but follows links to files",
  { skip: process.platform === "win32", timeout: 120_000 },
  async (t) => {
    const { root, publish, backUp } = await place(t);
    await publish("m", 1);
    const stored = join(root, "stored");
    execFileSync("cp", ["-r", join(root, "data"), stored]);
    const specials: readonly (readonly [string, (path: string) => unknown, RegExp | null])[] = [
      [
        "a named pipe",
        (path) => execFileSync("mkfifo", [path]),
        /is a named pipe, where a plain file should be/,
      ],
      ["a socket", (path) => bindSocket(path), /is a socket, where/],
      ["a link to a device", (path) => symlinkSync("/dev/zero", path), /is a symbolic link, where/],
      ["a link to itself", (path) => symlinkSync(path, path), /is a symbolic link, where/],
      ["a link to a folder", (path) => symlinkSync(dirname(path), path), /is a symbolic link, where/],
      ["an absolute link", (path) => symlinkSync(path.replace("/data/", "/stored/"), path), null],
      [
        "a relative link",
        (path) => symlinkSync(relative(dirname(path), path.replace("/data/", "/stored/")), path),
        null,
      ],
    ];
    for (const path of ["adapters/m/1/adapter_config.json", "adapters/m/1/more", "files/f"])
      for (const [kind, put, expected] of specials) {
        const at = join(root, "data", path);
        const isExtra = path.endsWith("more");
        // Skipped, because there is no file that the link could refer to.
        if (expected === null && isExtra) continue;
        rmSync(at, { force: true });
        put(at);
        const { faults } = await backUp("copy");
        const key = path.startsWith("files/") ? path : "adapters/m/1";
        if (expected === null) assert.deepEqual(faults, [], `${path} is ${kind}`);
        else {
          const said = `${path} is ${kind}: ${JSON.stringify(faults)}`;
          assert.deepEqual([...new Set(faults.map(({ what }) => what))], [key], said);
          assert.equal(
            faults.filter(({ message }) => expected.test(message) && message.includes(path)).length,
            1,
            said,
          );
        }
        assert.equal(existsSync(join(root, "copy", path)), expected === null);
        rmSync(join(root, "copy"), { recursive: true });
        rmSync(at, { recursive: true });
        if (!isExtra) execFileSync("cp", [join(stored, path), at]);
      }
  },
);

test(
  "refuses an archive with a symbolic link in place of a folder",
  { skip: process.platform === "win32" },
  async (t) => {
    const { root, publish, backUp } = await place(t);
    await publish("m", 1);
    await backUp("one");
    const folder = join(root, "one");
    renameSync(join(folder, "adapters"), join(root, "elsewhere"));
    symlinkSync(join(root, "elsewhere"), join(folder, "adapters"));
    execFileSync("mkfifo", [join(folder, "more")]);
    const found = await faultsOf(verifyArchive(folderPlace(folder), anyTables, silent));
    assert.deepEqual(found.filter((what) => !what.startsWith("adapters/")).toSorted(), ["adapters", "more"]);
    assert.ok(found.includes("adapters/m/1/adapter_config.json"));
    const { artifacts } = dataFolderAt(join(root, "restored"));
    await assert.rejects(
      restoreArchive(
        await openArchive(folderPlace(folder)),
        { tables: new MemoryDatabase(), artifacts },
        silent,
      ),
      { code: "invalid", message: /one\/adapters is a symbolic link, where a folder should be/ },
    );
    // Only the archive's top folder may be a symbolic link.
    symlinkSync(folder, join(root, "linked"));
    rmSync(join(folder, "adapters"));
    rmSync(join(folder, "more"));
    renameSync(join(root, "elsewhere"), join(folder, "adapters"));
    assert.deepEqual(await faultsOf(verifyArchive(folderPlace(join(root, "linked")), anyTables, silent)), []);
  },
);

test(
  "reports a named pipe in place of a server's file",
  { skip: process.platform === "win32", timeout: 60_000 },
  async (t) => {
    const { root, publish, database, artifacts } = await place(t);
    await publish("m", 1);
    for (const path of ["files/f", "adapters/m/1/adapter_model.safetensors"]) {
      rmSync(join(root, "data", path));
      execFileSync("mkfifo", [join(root, "data", path)]);
    }
    assert.deepEqual((await faultsOf(verifyServer({ tables: database, artifacts }, silent))).toSorted(), [
      "adapters/m/1",
      "files/f",
    ]);
  },
);

test("restores all artifacts and rows, and can be repeated after a failure", async (t) => {
  const { root, publish, backUp, database } = await place(t);
  await publish("m", 1);
  await backUp("one");
  const archive = await openArchive(folderPlace(join(root, "one")));
  const target = new MemoryDatabase();
  const data = join(root, "restored");
  const { artifacts } = dataFolderAt(data);
  const failing = {
    requireTables: anyTables,
    requireEmpty: () => target.requireEmpty(),
    fill: async () => {
      throw new Error("the disk is full");
    },
  };
  await assert.rejects(restoreArchive(archive, { tables: failing, artifacts }, silent), /the disk is full/);
  await restoreArchive(archive, { tables: target, artifacts }, silent);
  assert.deepEqual(target.content, database.content);
  assert.deepEqual(await faultsOf(verifyServer({ tables: target, artifacts }, silent)), []);
  assert.equal(readFileSync(join(data, "adapters/m/1/optimizer.safetensors"), "utf8"), "state");
});

test("restores nothing if the target has other data, or if the archive is an export or damaged", async (t) => {
  const { root, publish, backUp, database, artifacts: own } = await place(t);
  await publish("m", 1);
  await backUp("one");
  const archive = await openArchive(folderPlace(join(root, "one")));
  const target = new MemoryDatabase();
  const { artifacts } = dataFolderAt(join(root, "restored"));
  await artifacts.putFile("files/other", async (file) => writeFileSync(file, ""));
  await assert.rejects(restoreArchive(archive, { tables: target, artifacts }, silent), {
    code: "conflict",
    message: /files\/other, which is not in the archive/,
  });
  await artifacts.remove("files/other");
  appendFileSync(join(root, "one/adapters/m/1/adapter_config.json"), " ");
  await assert.rejects(restoreArchive(archive, { tables: target, artifacts }, silent), {
    code: "invalid",
    message: /adapter_config\.json is damaged/,
  });
  assert.deepEqual(target.content, {});
  assert.equal(await artifacts.has("adapters/m/1"), false);
  const making = { place: folderPlace(join(root, "export")), program: "1.0.0", ...silent };
  await makeExport({ tables: database, clock: { now: () => now } }, making);
  const exported = await openArchive(making.place);
  await assert.rejects(restoreArchive(exported, { tables: target, artifacts: own }, silent), {
    code: "invalid",
    message: /hone import/,
  });
  assert.deepEqual(await faultsOf(verifyArchive(making.place, anyTables, silent)), []);
});

test("refuses paths outside the target folder and paths that no archive contains", async (t) => {
  const { root, backUp } = await place(t);
  for (const path of [
    "../data/hone.json",
    "/etc/passwd",
    "files/../../x",
    "adapters/m",
    "other/x",
    "files/a\\b",
  ]) {
    const manifest = await backUp("one");
    const folder = join(root, "one");
    const sums = `${"0".repeat(64)}  ${path}\n`;
    writeFileSync(join(folder, "SHA256SUMS"), sums);
    const { format: _format, formatVersion: _version, ...content } = manifest;
    const sumsSha256 = createHash("sha256").update(sums).digest("hex");
    writeFileSync(join(folder, "manifest.json"), manifestText({ ...content, sumsSha256 }));
    const { artifacts } = dataFolderAt(join(root, "restored"));
    const archive = await openArchive(folderPlace(folder));
    await assert.rejects(restoreArchive(archive, { tables: new MemoryDatabase(), artifacts }, silent), {
      code: "invalid",
      message: /The archive names a file/,
    });
    rmSync(folder, { recursive: true });
  }
});

test("leaves no files after an interruption, and replaces the remains of a crash", async (t) => {
  const { root, publish, backUp } = await place(t);
  await publish("m", 1);
  const ended = new Error("ended");
  await assert.rejects(backUp("one", AbortSignal.abort(ended)), ended);
  assert.deepEqual(readdirSync(join(root, "one")), []);
  // Simulates the remains of a crash.
  writeFileSync(join(root, "one", ".unfinished-archive"), "");
  writeFileSync(join(root, "one", "SHA256SUMS"), "half");
  mkdirSync(join(root, "one", "database"));
  await backUp("one");
  assert.deepEqual(await faultsOf(verifyArchive(folderPlace(join(root, "one")), anyTables, silent)), []);
  await assert.rejects(backUp("one"), { code: "conflict", message: /already holds an archive/ });
  mkdirSync(join(root, "other"));
  writeFileSync(join(root, "other", "letter"), "");
  await assert.rejects(backUp("other"), { code: "conflict", message: /is not empty/ });
  assert.deepEqual(readdirSync(join(root, "other")), ["letter"]);
});

test("refuses an archive that a newer program wrote", async (t) => {
  const { root, backUp } = await place(t);
  await backUp("one");
  const path = join(root, "one", "manifest.json");
  writeFileSync(path, readFileSync(path, "utf8").replace('"formatVersion": 1', '"formatVersion": 2'));
  await assert.rejects(openArchive(folderPlace(join(root, "one"))), {
    code: "unsupported",
    message: /has the format 2/,
  });
});

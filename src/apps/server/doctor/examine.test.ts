// Tests of `hone doctor`'s findings on this machine, with and without faults.
import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { sql } from "kysely";
import { sampleFeedback } from "../../../store/database/contract/storage-under-test.ts";
import { damagePagesOf } from "../../../store/database/testing/damage-page.ts";
import { openSqlite } from "../../../store/database/sqlite/sqlite-dialect.ts";
import { openStores } from "../../../store/database/stores.ts";
import { packageVersion } from "../package.ts";
import { readConfig, type FlagValues } from "../config.ts";
import { addressFindings, urlOf, type SeenServer } from "./address.ts";
import { dataFindings } from "./data-folder.ts";
import { examine, type Finding } from "./examine.ts";
import { modelFindings } from "./models.ts";
import { everyKernel } from "../../../base/domain/kernels/integer-kernels.ts";

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-doctor-test-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

type Findings = ReadonlyMap<string, Finding>;

/** Groups findings by subject. Checks that a finding has a remedy exactly if its state is not `ok`. */
function check(findings: readonly Finding[]): Findings {
  for (const { state, cure } of findings) assert.equal(cure === null, state === "ok");
  return new Map(findings.map((finding) => [finding.check, finding]));
}

/** Returns the findings for these flags and a free port. */
async function examined(flags: Readonly<Record<string, unknown>>): Promise<Findings> {
  const findings: Finding[] = [];
  for await (const finding of examine({ port: "0", ...flags }, async () => null)) findings.push(finding);
  return check(findings);
}

const checkData = async (data: string): Promise<Findings> => check(await dataFindings(readConfig({ data })));

test("finds no faults on a working machine, and writes nothing", async (t) => {
  const data = join(newFolder(t), "data");
  const findings = await examined({ data });
  const faults = [...findings.values()].filter(({ state }) => state === "fault");
  assert.deepEqual(faults, []);
  assert.ok(!existsSync(data));
  for (const name of [
    "node",
    "processor",
    "memory",
    "runtime",
    "settings",
    "disk",
    "database",
    "key",
    "port",
  ])
    assert.ok(findings.has(name), name);
  assert.match(
    findings.get("model hone-tiny")?.message ?? "",
    /^is computed in float32, takes up to \d.* MB, and .* for the KV cache/,
  );
});

test("reports an invalid setting as a fault, with the reason", async (t) => {
  const findings = await examined({ data: newFolder(t), "engine-threads": "many" });
  assert.equal(findings.get("settings")?.state, "fault");
  assert.match(findings.get("settings")?.message ?? "", /--engine-threads/);
  assert.ok(!findings.has("database"));
});

const machineOf = (memoryBytes: number) => ({ memoryBytes, kernels: everyKernel });

test("reports a model that is missing or does not fit as a fault", (t) => {
  const data = newFolder(t);
  const found = (flags: FlagValues): Findings =>
    check(modelFindings(readConfig({ data, ...flags }), machineOf(8e9)));
  const missing = found({ model: ["no-such-model"] });
  assert.deepEqual(
    [missing.get("model no-such-model")?.state, missing.get("model hone-tiny")?.state],
    ["fault", "ok"],
  );
  const limited = found({ "models-memory-bytes": "1000" });
  assert.equal(limited.get("model hone-tiny")?.state, "fault");
  assert.match(limited.get("model hone-tiny")?.message ?? "", /more than --models-memory-bytes 1000/);
  const small = check(modelFindings(readConfig({ data }), machineOf(1e6))).get("model hone-tiny");
  assert.deepEqual([small?.state, small?.message.endsWith("of 1 MB in total")], ["fault", true]);
});

test("reports the database's version without changing it, and an unsupported version as a fault", async (t) => {
  const data = newFolder(t);
  const file = join(data, "hone.db");
  await (await openStores(openSqlite({ file, isShared: true }))).close();
  const found = (await checkData(data)).get("database");
  assert.match(found?.message ?? "", /hone\.db, version \d+$/);
  const set = async (version: number, servesFrom = version): Promise<void> => {
    const { queries } = openSqlite({ file, isShared: true });
    await sql`update database_version set version = ${version}, serves_from = ${servesFrom}`.execute(queries);
    await queries.destroy();
  };
  await set(2);
  for (let times = 0; times < 2; times++) {
    const old = (await checkData(data)).get("database");
    assert.equal(old?.state, "fault");
    assert.match(old.message, /has version 2, and this program needs version \d+ or newer/);
    assert.match(old.cure ?? "", /export what you need with that build/);
  }
  await set(1000);
  assert.deepEqual((await checkData(data)).get("database")?.state, "fault");
  await set(1000, 2);
  const beside = (await checkData(data)).get("database");
  assert.equal(beside?.state, "ok");
  assert.match(beside.message, /has version 1000; this program .* works next to/);
  writeFileSync(file, "no database at all, but long enough to be taken for one");
  assert.equal((await checkData(data)).get("database")?.state, "fault");
});

test("reports a damaged database as a fault, with the damage found and the remedy", async (t) => {
  const data = newFolder(t);
  const file = join(data, "hone.db");
  const stores = await openStores(openSqlite({ file, isShared: true }));
  const note = "found by this ".repeat(300);
  await stores.feedback.create(["a", "b"].map((id) => sampleFeedback(id, { payload: { note } })));
  await stores.close();
  assert.equal((await checkData(data)).get("database")?.state, "ok");
  damagePagesOf(file, "found by this");
  const found = (await checkData(data)).get("database");
  assert.equal(found?.state, "fault");
  assert.match(found.message, /hone\.db is damaged: .*(page|malformed)/i);
  assert.match(found.cure ?? "", /restore the newest backup/);
});

test("warns of a key file that others can read, and of a missing key", async (t) => {
  const data = newFolder(t);
  await (await openStores(openSqlite({ file: join(data, "hone.db"), isShared: true }))).close();
  assert.match((await checkData(data)).get("key")?.cure ?? "", /hone keys create/);
  writeFileSync(join(data, "admin-key"), "secret\n", { mode: 0o600 });
  assert.equal((await checkData(data)).get("key")?.state, "ok");
  if (process.platform === "win32") return;
  chmodSync(join(data, "admin-key"), 0o644);
  assert.match((await checkData(data)).get("key")?.cure ?? "", /chmod/);
});

test("reports a file in place of the data folder as a fault", async (t) => {
  const folder = newFolder(t);
  const data = join(folder, "file");
  writeFileSync(data, "");
  assert.equal((await checkData(data)).get("data folder")?.state, "fault");
  assert.deepEqual(readdirSync(folder), ["file"]);
});

test("reports only one fault, about the folder, if the data folder's parent is a file", async (t) => {
  const file = join(newFolder(t), "file");
  writeFileSync(file, "");
  const config = readConfig({ data: join(file, "data") });
  const findings = [...(await dataFindings(config)), ...modelFindings(config, machineOf(8e9))];
  const faults = findings.filter(({ state }) => state === "fault");
  assert.deepEqual(
    faults.map(({ check: about }) => about),
    ["data folder"],
  );
  assert.match(faults[0]?.message ?? "", /cannot be created: .*file is a file, not a folder$/);
});

test("reports a port in use as a fault, unless the running Hone server uses it", async (t) => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  t.after(() => other.close());
  // Safe cast: the server listens on a port.
  const { port } = other.address() as AddressInfo;
  const address = { host: "127.0.0.1", port };
  const [none, taken] = await addressFindings(address, async () => null);
  assert.deepEqual([none.state, taken.check, taken.state], ["ok", "port", "fault"]);
  const well = { version: packageVersion(), state: "ready", reason: "" };
  const states = async (server: SeenServer) =>
    (await addressFindings(address, async () => server)).map(({ state }) => state);
  assert.deepEqual(await states(well), ["ok", "ok"]);
  assert.deepEqual(await states({ ...well, state: "failed", reason: "It broke." }), ["warning", "ok"]);
  assert.deepEqual(await states({ ...well, version: "0.0.1" }), ["warning", "ok"]);
});

test("uses a loopback address for a server that listens on all addresses", () => {
  assert.equal(urlOf({ host: "0.0.0.0", port: 8000 }), "http://127.0.0.1:8000");
  assert.equal(urlOf({ host: "::", port: 8000 }), "http://[::1]:8000");
  assert.equal(urlOf({ host: "example.org", port: 80 }), "http://example.org:80");
});

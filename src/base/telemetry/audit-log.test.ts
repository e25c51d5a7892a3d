// The audit log in a real folder: the content of a line, rotation, and failures of writing.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { FakeClock } from "../domain/testing/fake-clock.ts";
import { appendEntries, createAuditLog, trimAudit, type AuditEntry } from "./audit-log.ts";
import { silentLogger } from "./testing/silent-logger.ts";

function newFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-audit-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "audit.jsonl");
}

const outcomesOf = (path: string): readonly string[] =>
  linesOf(path).map((line) => (line as { readonly outcome: string }).outcome);

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const entry: AuditEntry = {
  time: new Date(0),
  keyId: "k",
  entity: "team",
  address: "127.0.0.1",
  action: "DELETE /v1/preview/models/1",
  outcome: "204",
  requestId: "r",
};

function linesOf(path: string): readonly unknown[] {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  return lines.map((line): unknown => JSON.parse(line));
}

test("writes a line for each entry, in order, for its owner only", async (t) => {
  const path = newFile(t);
  const audit = createAuditLog({ path, bytesMax: 10_000, keptCount: 2 }, silentLogger);
  audit.record(entry);
  audit.record({ ...entry, keyId: null, entity: null, action: "a\nb", outcome: "401" });
  await audit.stop();
  const line = { time: "1970-01-01T00:00:00.000Z", key_id: "k", entity: "team", address: "127.0.0.1" };
  const first = { ...line, action: entry.action, outcome: "204", request_id: "r" };
  const second = { ...first, key_id: null, entity: null, action: "a\nb", outcome: "401" };
  assert.deepEqual(linesOf(path), [first, second]);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("rotates a full file and keeps the configured number", async (t) => {
  const path = newFile(t);
  for (const outcome of ["1", "2", "3", "4"]) {
    const audit = createAuditLog({ path, bytesMax: 200, keptCount: 2 }, silentLogger);
    audit.record({ ...entry, outcome });
    await audit.stop();
  }
  const kept = ["", ".1", ".2"].map((end) => /"outcome":"(\d)"/.exec(readFileSync(path + end, "utf8"))?.[1]);
  assert.deepEqual(kept, ["4", "3", "2"]);
  assert.ok(!existsSync(`${path}.3`));
});

test("counts lines that exceed the queue in the next lines", async (t) => {
  const path = newFile(t);
  const audit = createAuditLog({ path, bytesMax: 100_000_000, keptCount: 2 }, silentLogger);
  // The first line is being written, and the queue has room for 10,000 more. Five lines are therefore dropped.
  for (let count = 0; count < 10_006; count++) audit.record(entry);
  await audit.stop();
  const lines = linesOf(path);
  assert.deepEqual(
    lines.filter((line) => JSON.stringify(line).includes("entries-lost")),
    [{ action: "entries-lost", count: 5 }],
  );
  assert.equal(lines.length, 10_002);
});

test("counts lines of a failed write that exceed the queue too", async (t) => {
  const folder = join(newFile(t), "..", "later");
  const path = join(folder, "audit.jsonl");
  const clock = new FakeClock();
  const audit = createAuditLog({ path, bytesMax: 100_000_000, keptCount: 2 }, silentLogger, clock);
  for (let count = 0; count < 10_001; count++) audit.record(entry);
  while (audit.fault() === null) await turn();
  mkdirSync(folder);
  await audit.stop();
  const lines = linesOf(path);
  assert.deepEqual([lines.length, lines[0]], [10_001, { action: "entries-lost", count: 1 }]);
});

test("removes lines by age: with a full file, at the latest at twice the age", async (t) => {
  const path = newFile(t);
  const file = { path, bytesMax: 200, keptCount: 3 };
  const day = (count: number): Date => new Date(Date.UTC(2026, 0, 1) + count * 86_400_000);
  await appendEntries(file, [{ ...entry, time: day(0), outcome: "1" }]);
  await appendEntries(file, [{ ...entry, time: day(1), outcome: "2" }]);
  utimesSync(`${path}.1`, day(0), day(0));
  const kept = (): readonly string[] =>
    ["", ".1", ".2", ".3"].flatMap((end) =>
      existsSync(path + end) ? [/"outcome":"(\d)"/.exec(readFileSync(path + end, "utf8"))?.[1] ?? ""] : [],
    );
  await trimAudit(file, day(-1), day(1));
  assert.deepEqual(kept(), ["2", "1"]);
  await trimAudit(file, day(0.5), day(2.5));
  assert.deepEqual(kept(), ["2"]);
  await trimAudit(file, day(1.5), day(3.5));
  assert.deepEqual([existsSync(path), kept()], [false, ["2"]]);
  utimesSync(`${path}.1`, day(1), day(1));
  await appendEntries(file, [{ ...entry, time: day(4), outcome: "3" }]);
  await trimAudit(file, day(1.5), day(4));
  assert.deepEqual(kept(), ["3"]);
  await trimAudit({ ...file, path: `${path}-none` }, day(9), day(9));
});

test("logs one error for an unwritable file and refuses durable lines until it is writable", async (t) => {
  const said: string[] = [];
  const note = (_: object, message: string): void => void said.push(message);
  const logger = { ...silentLogger, error: note, warn: note };
  const folder = join(newFile(t), "..", "later");
  const path = join(folder, "audit.jsonl");
  const clock = new FakeClock();
  const audit = createAuditLog({ path, bytesMax: 1000, keptCount: 2 }, logger, clock);
  assert.equal(audit.fault(), null);
  audit.record({ ...entry, outcome: "1" });
  await assert.rejects(audit.recordDurably({ ...entry, outcome: "2" }), { code: "unavailable" });
  assert.equal(audit.fault()?.code, "unavailable");
  await assert.rejects(audit.recordDurably({ ...entry, outcome: "3" }), { code: "unavailable" });
  mkdirSync(folder);
  await clock.advance(1000);
  while (audit.fault() !== null) await turn();
  await audit.recordDurably({ ...entry, outcome: "4" });
  assert.deepEqual(outcomesOf(path), ["1", "2", "3", "4"], "failed lines are written when the file can be");
  await audit.stop();
  assert.deepEqual(said, ["the audit log cannot be written", "the audit log can be written again"]);
});

test("stops with an error if the last lines cannot be written", async (t) => {
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (_: object, message: string) => void errors.push(message) };
  const path = join(newFile(t), "no-folder", "audit.jsonl");
  const audit = createAuditLog({ path, bytesMax: 1000, keptCount: 2 }, logger);
  audit.record(entry);
  await audit.stop();
  assert.deepEqual(errors, [
    "the audit log cannot be written",
    "the last lines of the audit log may be lost",
  ]);
});

test("names a full disk", async (t) => {
  if (!existsSync("/dev/full")) return t.skip("no device that is always full here");
  const path = newFile(t);
  symlinkSync("/dev/full", path);
  const audit = createAuditLog({ path, bytesMax: 1000, keptCount: 2 }, silentLogger, new FakeClock());
  await assert.rejects(audit.recordDurably(entry), {
    code: "unavailable",
    obstacle: "full-disk",
    message: /disk .* is full/,
  });
  await audit.stop();
});

test("resolves a durable line once it is in the file, on a new line after a partial one", async (t) => {
  const path = newFile(t);
  writeFileSync(path, '{"time":"1970');
  const audit = createAuditLog({ path, bytesMax: 10_000, keptCount: 2 }, silentLogger);
  await Promise.all(["1", "2"].map((outcome) => audit.recordDurably({ ...entry, outcome })));
  const [partial, ...whole] = readFileSync(path, "utf8").trimEnd().split("\n");
  assert.equal(partial, '{"time":"1970');
  assert.deepEqual(
    whole.map((line) => (JSON.parse(line) as { outcome: string }).outcome),
    ["1", "2"],
  );
  await audit.stop();
});

test("shares an fsync among durable lines without waiting for the pause, and does not sync others", async (t) => {
  const path = newFile(t);
  const handle = await open(path, "a");
  const datasync = t.mock.method(Object.getPrototypeOf(handle) as FileHandle, "datasync");
  await handle.close();
  const clock = new FakeClock();
  const audit = createAuditLog({ path, bytesMax: 1_000_000, keptCount: 2 }, silentLogger, clock);
  audit.record(entry);
  // The only sleep that remains is the pause between two writes.
  while (!readFileSync(path, "utf8").endsWith("\n") || clock.sleepingCount !== 1) await turn();
  assert.equal(datasync.mock.callCount(), 0);
  await Promise.all(Array.from({ length: 100 }, () => audit.recordDurably(entry)));
  assert.equal(linesOf(path).length, 101);
  assert.ok(datasync.mock.callCount() >= 1 && datasync.mock.callCount() <= 2);
  await audit.stop();
});

test("delays a durable line and the stop by five seconds on a hanging disk, and later lines not at all", async (t) => {
  if (process.platform === "win32") return t.skip("no named pipes in folders here");
  const path = newFile(t);
  // A write to a named pipe without a reader does not return, like a write to a stalled disk.
  execFileSync("mkfifo", [path]);
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (_: object, message: string) => void errors.push(message) };
  const clock = new FakeClock();
  const audit = createAuditLog({ path, bytesMax: 1_000_000, keptCount: 2 }, logger, clock);
  const first = audit.recordDurably({ ...entry, action: "a".repeat(300_000) });
  const queued = audit.recordDurably(entry);
  const refused = Promise.all([first, queued].map((line) => assert.rejects(line, { code: "unavailable" })));
  assert.equal(audit.fault(), null);
  await clock.advance(5000);
  await refused;
  assert.equal(audit.fault()?.code, "unavailable");
  await assert.rejects(audit.recordDurably(entry), { code: "unavailable" });
  let isStopped = false;
  const stopped = audit.stop().then(() => (isStopped = true));
  await clock.advance(5000);
  assert.equal(isStopped, true);
  await stopped;
  assert.deepEqual(errors, [
    "the audit log cannot be written",
    "the last lines of the audit log may be lost",
  ]);
  await readUntilEnd(path);
});

/** Reads the pipe, so that the thread that writes to it can continue. */
async function readUntilEnd(path: string): Promise<void> {
  let newlines = 0;
  const pipe = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const piece = Buffer.alloc(65_536);
  while (newlines === 0) {
    await turn();
    try {
      newlines += piece.toString("latin1", 0, readSync(pipe, piece)).split("\n").length - 1;
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "EAGAIN");
    }
  }
  closeSync(pipe);
}

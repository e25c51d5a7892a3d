// The audit log on a real folder: what a line says, when a file is full, and what happens when none can be written.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { appendEntries, createAuditLog, trimAudit, type AuditEntry } from "./audit-log.ts";
import { silentLogger } from "./testing/silent-logger.ts";

function newFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hone-audit-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "audit.jsonl");
}

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

test("begins another file when one is full, and keeps as many as it should", async (t) => {
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

test("what finds no room in the queue is counted in the next lines", async (t) => {
  const path = newFile(t);
  const audit = createAuditLog({ path, bytesMax: 100_000_000, keptCount: 2 }, silentLogger);
  // The first is being written at once; the queue holds 10,000 behind it.
  for (let count = 0; count < 10_006; count++) audit.record(entry);
  await audit.stop();
  const lines = linesOf(path);
  assert.deepEqual(
    lines.filter((line) => JSON.stringify(line).includes("entries-lost")),
    [{ action: "entries-lost", count: 5 }],
  );
  assert.equal(lines.length, 10_002);
});

test("lines go by their age: with a full file, and at the latest when they are twice as old", async (t) => {
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

test("a file that cannot be written is an error in the log, and stops nobody", async (t) => {
  const errors: string[] = [];
  const logger = { ...silentLogger, error: (_: object, message: string) => void errors.push(message) };
  const path = join(newFile(t), "no-folder", "audit.jsonl");
  const audit = createAuditLog({ path, bytesMax: 1000, keptCount: 2 }, logger);
  audit.record(entry);
  await audit.stop();
  assert.deepEqual(errors, ["the audit log cannot be written"]);
});

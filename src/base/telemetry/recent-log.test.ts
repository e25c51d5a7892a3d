import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import type { PageRequest } from "../domain/page.ts";
import { RecentLog } from "./recent-log.ts";

/** Returns a logger of the logging library, which writes lines to `log` in the form in which the server does. */
function filled(log: RecentLog) {
  return pino(
    { level: "debug", base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (json: string) => log.add(json) },
  );
}

const all: PageRequest = { after: null, limit: 100, order: "asc" };

function messagesOf(log: RecentLog, page: Partial<PageRequest> = {}): readonly string[] {
  return log.list({ ...all, ...page }, "debug").items.map(({ message }) => message);
}

test("reads lines as they were written, with their level, time and fields", () => {
  const log = new RecentLog();
  filled(log).warn({ jobId: "j", err: new Error("broken") }, "it failed");
  const [line] = log.list(all, "debug").items;
  assert.match(line.id, /^[0-9a-f]{8}-0$/);
  assert.match(line.time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  assert.deepEqual([line.level, line.message, line.fields["jobId"]], ["warn", "it failed", "j"]);
  assert.equal((line.fields["err"] as { readonly message: string }).message, "broken");
});

test("removes the oldest lines beyond the limit of lines", () => {
  const log = new RecentLog({ linesMax: 3, bytesMax: 1e6 });
  const logger = filled(log);
  for (let number = 0; number < 10; number++) logger.info(String(number));
  assert.deepEqual(messagesOf(log), ["7", "8", "9"]);
});

test("removes the oldest lines beyond the limit of bytes, and keeps no line that exceeds it", () => {
  const log = new RecentLog({ linesMax: 1000, bytesMax: 1000 });
  const logger = filled(log);
  for (let number = 0; number < 10; number++) logger.info(`${number}${"é".repeat(100)}`);
  const kept = messagesOf(log);
  assert.deepEqual(
    kept.map((message) => message[0]),
    ["7", "8", "9"],
  );
  logger.info("é".repeat(500));
  assert.deepEqual(messagesOf(log), kept);
});

test("pages from the newest or the oldest line, without lines below the level", () => {
  const log = new RecentLog();
  const logger = filled(log);
  for (const level of ["debug", "info", "warn", "error"] as const) logger[level](level);
  const first = log.list({ after: null, limit: 3, order: "desc" }, "debug");
  assert.deepEqual(
    [first.items.map(({ message }) => message), first.hasMore],
    [["error", "warn", "info"], true],
  );
  const rest = log.list({ after: first.items[2].id, limit: 3, order: "desc" }, "debug");
  assert.deepEqual([rest.items.map(({ message }) => message), rest.hasMore], [["debug"], false]);
  assert.deepEqual(messagesOf(log, { after: first.items[1].id }), ["error"]);
  const warnings = log.list({ ...all, limit: 1 }, "warn");
  assert.deepEqual([warnings.items.map(({ message }) => message), warnings.hasMore], [["warn"], true]);
});

test("treats a cursor of a removed line, or of another start, as before the oldest line", () => {
  const log = new RecentLog({ linesMax: 2, bytesMax: 1e6 });
  const logger = filled(log);
  logger.info("0");
  const [{ id: gone }] = log.list(all, "debug").items;
  for (const message of ["1", "2", "3"]) logger.info(message);
  const other = new RecentLog();
  filled(other).info("of another start");
  for (const after of [gone, other.list(all, "debug").items[0].id]) {
    assert.deepEqual(messagesOf(log, { after }), ["2", "3"]);
    assert.deepEqual(messagesOf(log, { after, order: "desc" }), []);
  }
  assert.throws(() => log.list({ ...all, after: "x" }, "debug"), {
    code: "invalid",
    message: /^"x" is no id/,
  });
});

test("gives a follower the kept lines, then each further one of its level, until it leaves", async () => {
  const log = new RecentLog();
  const logger = filled(log);
  logger.error("before");
  const leaving = new AbortController();
  const lines = log.follow({ after: null, level: "warn" }, leaving.signal);
  assert.equal((await lines.next()).value?.message, "before");
  const next = lines.next();
  logger.info("below");
  logger.warn("after");
  assert.equal((await next).value?.message, "after");
  const last = lines.next();
  leaving.abort();
  assert.equal((await last).done, true);
});

test("continues for a slow follower at the oldest kept line", async () => {
  const log = new RecentLog({ linesMax: 2, bytesMax: 1e6 });
  const logger = filled(log);
  logger.info("0");
  const lines = log.follow({ after: null, level: "debug" }, new AbortController().signal);
  assert.equal((await lines.next()).value?.message, "0");
  for (let number = 1; number < 10; number++) logger.info(String(number));
  assert.deepEqual([(await lines.next()).value?.message, (await lines.next()).value?.message], ["8", "9"]);
});

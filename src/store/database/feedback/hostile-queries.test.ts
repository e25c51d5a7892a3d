// Tests that each malicious or pathological query returns a result, or is refused with a clear message.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { feedbackSettings, queryLimits } from "../../../judge/feedback/settings.ts";
import { readForm } from "../../../api/wire/body.ts";
import { feedbackQueryForm, toFeedbackQuery } from "../../../api/wire/feedback/feedback-queries.ts";
import { sampleFeedback } from "../contract/storage-under-test.ts";
import { openSqlite } from "../sqlite/sqlite-dialect.ts";
import { openStores } from "../stores.ts";

const limits = queryLimits(feedbackSettings.with());
const turn = { entity: "team", timeMs: 60_000 };
const field = (name: string): object => ({ $getField: name });
const literal = (value: unknown): object => ({ $literal: value });
const eq = (name: string, value: unknown): object => ({ $eq: [field(name), literal(value)] });
const contains = (name: string, part: string): object => ({
  $contains: { input: field(name), substr: literal(part) },
});

const folder = mkdtempSync(join(tmpdir(), "hone-hostile-"));
const stores = await openStores(openSqlite({ file: join(folder, "hone.db"), isShared: true }));
const payloads: Readonly<Record<string, FeedbackRecord["payload"]>> = {
  percent: { note: "100%", big: 2 ** 53 + 2 },
  plain: { note: "1000", big: 2 ** 53 },
  star: { note: "a*[b]?_" },
  nul: { note: "a\0b", "k\0": 1 },
  half: { note: "\ud83d", "\ud83d": "name" },
  quoted: { note: "'\"--;\\", 'a"b\\c$.[0]': { "": "deep" }, "'; drop table feedback; --": 1 },
  long: { note: "x".repeat(1 << 19), list: Array.from({ length: 5000 }, (_, index) => index) },
};
await stores.feedback.create(
  Object.entries(payloads).map(([id, payload]) => sampleFeedback(id, { payload, contentHash: id })),
);

after(async () => {
  await stores.close();
  rmSync(folder, { recursive: true });
});

async function ask(expression: object, rest: object = {}): Promise<readonly string[]> {
  const sent = { project_id: "team/games", query: { $expr: expression }, ...rest };
  const { value } = readForm(feedbackQueryForm(limits), sent);
  const { items } = await stores.feedback.query(toFeedbackQuery(value, limits), turn);
  return items.map(({ id }) => id);
}

test("treats LIKE and GLOB wildcards as plain text", async () => {
  for (const [part, expected] of [
    ["100%", ["percent"]],
    ["%", ["percent"]],
    ["a*[b]?_", ["star"]],
    ["_", ["star"]],
    ["'\"--;\\", ["quoted"]],
    ["' or '1'='1", []],
  ] as const)
    assert.deepEqual(await ask(contains("payload.note", part)), expected, part);
});

test("treats any text as a field name, including SQL", async () => {
  for (const [name, value, expected] of [
    ['payload.a"b\\c$\\.[0].', "deep", ["quoted"]],
    ["payload.'; drop table feedback; --", 1, ["quoted"]],
    ["payload.note') or 1=1 --", 1, []],
    [`payload.${"a.".repeat(2000)}b`, 1, []],
    ["payload.k\ufffd", 1, ["nul"]],
  ] as const)
    assert.deepEqual(await ask(eq(name, value)), expected, name.slice(0, 50));
  assert.equal((await ask({ $not: [eq("id", "x")] })).length, 7);
});

test("matches NUL characters and unpaired surrogates by their replacements, and returns them unchanged", async () => {
  assert.deepEqual(await ask(eq("payload.note", "a\0b")), ["nul"]);
  assert.deepEqual(await ask(eq("payload.note", "\udc00")), ["half"]);
  assert.deepEqual((await stores.feedback.find("team/games", "half"))?.payload, {
    note: "\ud83d",
    "\ud83d": "name",
  });
  assert.deepEqual((await stores.feedback.find("team/games", "nul"))?.payload, { note: "a\0b", "k\0": 1 });
});

test("rounds numbers beyond 2^53 as JSON parsers do", async () => {
  assert.deepEqual(await ask(eq("payload.big", JSON.parse("9007199254740994"))), ["percent"]);
  assert.deepEqual(await ask(eq("payload.big", JSON.parse("9007199254740993"))), ["plain"]);
  assert.deepEqual(await ask({ $gt: [field("payload.big"), literal(2 ** 53)] }), ["percent"]);
  assert.deepEqual(await ask({ $gt: [field("payload.big"), literal(Number.MAX_VALUE)] }), []);
});

test("executes queries with the maximum number of operands, in any nesting", async () => {
  const count = Math.floor((limits.operandsMax - 1) / 3);
  const alternatives = Array.from({ length: count }, (_, index) =>
    index === 0 ? eq("id", "star") : { $gt: [field(`payload.p${index}`), literal(index)] },
  );
  assert.deepEqual(await ask({ $or: alternatives }), ["star"]);
  const options = Array.from({ length: limits.operandsMax - 3 }, (_, index) => literal(`no ${index}`));
  assert.deepEqual(await ask({ $in: [field("payload.note"), [...options, literal("1000")]] }), ["plain"]);
  let deep = eq("id", "star");
  for (let depth = 1; depth < limits.depthMax - 1; depth++) deep = { $not: [deep] };
  assert.equal((await ask(deep)).length, limits.depthMax % 2 === 0 ? 1 : 6);
  const keys = Array.from({ length: 16 }, (_, index) => ({ field: `payload.s${index}`, direction: "desc" }));
  assert.equal((await ask({ $not: [eq("id", "x")] }, { sort_by: keys })).length, 7);
});

test("returns an empty slice for an offset far beyond the end", async () => {
  assert.deepEqual(
    await ask(eq("feedback_type", "score"), { offset: Number.MAX_SAFE_INTEGER, limit: 10_000 }),
    [],
  );
});

test("compares and searches long texts, and counts the items of a list of thousands", async () => {
  assert.deepEqual(await ask(contains("payload.note", "x".repeat(60_000))), ["long"]);
  assert.deepEqual(await ask(eq("payload.list.4999", 4999)), ["long"]);
  assert.deepEqual(await ask({ $eq: [{ $size: field("payload.list") }, literal(5000)] }), ["long"]);
  assert.deepEqual(await ask({ $gte: [field("payload.list.4999"), literal(1)] }), ["long"]);
});

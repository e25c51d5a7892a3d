// Tests that feedback queries are read, and that malformed queries and unsupported operations are refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { holds } from "../../../../base/domain/testing/feedback-queries/evaluate.ts";
import type { FeedbackRecord } from "../../../../base/domain/feedback.ts";
import type { JsonObject } from "../../../../base/domain/text/json.ts";
import { newFindings } from "../../../../base/validation/findings.ts";
import { readExpression } from "./read-expression.ts";

const limits = { depthMax: 8, operandsMax: 40, literalBytesMax: 200, timeMs: 1000 };

function read(expression: unknown) {
  const findings = newFindings("body", "query");
  const { condition, refusals } = readExpression({ $expr: expression }, findings, limits);
  return { condition, shapes: findings.faults, refusals };
}

const record: FeedbackRecord = {
  id: "r",
  projectId: "team/games",
  vendorRef: "weave:///team/games/call/1",
  feedbackType: "note",
  payload: {
    note: "Good \u{1f44d} 100%_\\",
    score: 0.5,
    text: "0.25",
    whole: 3.9,
    yes: true,
    nothing: null,
    list: [1, { "a.b": "deep" }],
    7: "seven",
    odd: "\0\ud800",
  },
  creator: null,
  annotationRef: null,
  runnableRef: null,
  callRef: null,
  triggerRef: null,
  queueId: null,
  createdAt: new Date("2026-01-02T03:04:05.678Z"),
  vendorUserId: "Bob",
  contentHash: "h",
};

const field = (name: string): object => ({ $getField: name });
const literal = (value: unknown): object => ({ $literal: value });
const eq = (name: string, value: unknown): object => ({ $eq: [field(name), literal(value)] });

test("evaluates operations on a record", () => {
  const check = (expression: object, expected: boolean): void => {
    const { condition, shapes, refusals } = read(expression);
    assert.deepEqual([shapes, refusals], [[], []], JSON.stringify(expression));
    assert.equal(holds(condition, record), expected, JSON.stringify(expression));
  };
  for (const [expression, expected] of [
    [eq("weave_ref", record.vendorRef), true],
    [eq("vendor_ref", "other"), false],
    [eq("wb_user_id", "Bob"), true],
    [{ $eq: [literal("1"), literal("1")] }, true],
    [{ $gt: [literal(2), literal(10)] }, false],
    // A comparison interprets a payload value by the type of its other operand.
    [eq("payload.score", 0.5), true],
    [{ $gt: [field("payload.text"), literal(0.2)] }, true],
    [{ $lt: [literal(0.2), field("payload.text")] }, true],
    [eq("payload.score", "0.5"), true],
    [eq("payload.yes", true), true],
    [eq("payload.yes", "true"), true],
    [eq("payload.score", true), false],
    [{ $gt: [field("payload.note"), literal(0)] }, false],
    // A missing value equals null and the empty text. It is not a number.
    [eq("payload.missing", ""), true],
    [eq("payload.nothing", null), true],
    [eq("payload.missing.further", null), true],
    [eq("creator", null), true],
    [eq("id", null), false],
    [{ $not: [{ $gt: [field("payload.missing"), literal(1)] }] }, false],
    [{ $not: [eq("payload.missing", "x")] }, true],
    [{ $gt: [field("payload.score"), literal(null)] }, false],
    // Paths to members of objects and items of lists in the payload.
    [eq("payload.list.0", 1), true],
    [eq("payload.list.1.a\\.b", "deep"), true],
    [eq("payload.list.2", null), true],
    [eq("payload.\\7", "seven"), true],
    [eq("payload.7", null), true],
    [eq("payload.list", '[1,{"a.b":"deep"}]'), true],
    [{ $eq: [{ $size: field("payload.list") }, literal(2)] }, true],
    [eq("payload.odd", "\0\udc00"), true],
    // Conversions of a value to another type.
    [{ $eq: [{ $convert: { input: field("payload.whole"), to: "int" } }, literal(3)] }, true],
    [{ $eq: [{ $convert: { input: field("payload.text"), to: "double" } }, literal(0.25)] }, true],
    [{ $eq: [{ $convert: { input: literal(1), to: "string" } }, literal("1")] }, true],
    [{ $eq: [{ $convert: { input: field("payload.nothing"), to: "exists" } }, literal(false)] }, true],
    [{ $not: [{ $convert: { input: field("creator"), to: "exists" } }] }, true],
    // `$contains` compares texts literally; it knows no wildcards.
    [{ $contains: { input: field("payload.note"), substr: literal("100%_\\") } }, true],
    [{ $contains: { input: field("payload.note"), substr: literal("G%d") } }, false],
    [{ $contains: { input: field("payload.note"), substr: literal("good") } }, false],
    [{ $contains: { input: field("payload.note"), substr: literal("gOOD"), case_insensitive: true } }, true],
    [{ $contains: { input: field("payload.note"), substr: field("payload.missing") } }, true],
    [{ $in: [field("payload.score"), [literal("x"), literal(0.5)]] }, true],
    [{ $in: [field("id"), []] }, false],
    [{ $in: [field("creator"), [literal("x"), literal(null)]] }, true],
    [{ $or: [eq("id", "x"), eq("id", "r")] }, true],
    [{ $and: [eq("id", "r"), field("payload.yes"), literal(true)] }, true],
    [{ $eq: [eq("id", "r"), literal(true)] }, true],
    // Comparisons of the record's creation time with times in several notations.
    [{ $gt: [field("created_at"), literal("2026-01-02")] }, true],
    [eq("created_at", "2026-01-02T03:04:05.678Z"), true],
    [eq("created_at", "2026-01-02 05:04:05.678+02:00"), true],
    [{ $gte: [field("created_at"), literal("2026-01-02T03:04:05.6785")] }, false],
    [{ $lt: [field("created_at"), literal("2026-01-02T03:04:05.6785")] }, true],
    [eq("created_at", record.createdAt.getTime() / 1000), true],
  ] as const)
    check(expression, expected);
});

test("reports anything outside the language as a fault of shape, located at its path", () => {
  const check = (expression: unknown, ...locations: readonly string[]): void => {
    const { shapes, refusals } = read(expression);
    assert.deepEqual(
      shapes.map(({ location }) => location.slice(2).join(".")),
      locations,
      JSON.stringify(expression),
    );
    assert.deepEqual(refusals, []);
  };
  check(literal(1), "$expr");
  check({}, "$expr");
  check({ ...eq("id", "a"), $not: [] }, "$expr");
  check({ $regex: 1 }, "$expr");
  check({ constructor: [] }, "$expr");
  check({ $eq: [literal(1)] }, "$expr.$eq");
  check({ $and: eq("id", "a") }, "$expr.$and");
  check({ $not: [eq("id", "a"), eq("id", "b")] }, "$expr.$not");
  check(
    { $and: [eq("id", "a"), { $eq: [{ $getField: 1 }, { $literal: 1, more: 2 }] }] },
    "$expr.$and.1.$eq.0.$getField",
    "$expr.$and.1.$eq.1",
  );
  check(
    { $contains: { input: field("id"), substring: literal("a") } },
    "$expr.$contains.substr",
    "$expr.$contains.substring",
  );
  check(
    { $contains: { input: field("id"), substr: literal("a"), case_insensitive: 1 } },
    "$expr.$contains.case_insensitive",
  );
  check({ $eq: [{ $convert: { input: field("id"), to: "date" } }, literal(1)] }, "$expr.$eq.0.$convert.to");
  check({ $in: [field("id"), literal([1])] }, "$expr.$in.1");
  const findings = newFindings("body", "query");
  readExpression({ $expr: eq("id", "a"), other: 1 }, findings, limits);
  assert.deepEqual(
    findings.faults.map(({ location }) => location),
    [["body", "query", "other"]],
  );
});

test("refuses unsupported operations with their paths, and continues to check the rest", () => {
  const check = (expression: unknown, ...expected: readonly (readonly [string, RegExp])[]): void => {
    const { shapes, refusals } = read(expression);
    assert.deepEqual(shapes, []);
    assert.deepEqual(
      refusals.map(({ location }) => location.slice(2).join(".")),
      expected.map(([place]) => place),
    );
    for (const [index, [, words]] of expected.entries()) assert.match(refusals[index].message, words);
  };
  check(
    { $or: [eq("inputs.message_id", "a"), eq("id", 1), { $and: [] }] },
    ["$expr.$or.0.$eq.0.$getField", /^Unknown field: "inputs\.message_id"/],
    ["$expr.$or.1.$eq", /a text cannot be compared with a number/],
    ["$expr.$or.2.$and", /no operands/],
  );
  check(eq("created_at", "yesterday"), ["$expr.$eq", /"yesterday".*ISO 8601/]);
  check(eq("created_at", 1.7e12), ["$expr.$eq", /seconds since 1970/]);
  check(eq("payload.x", [1]), ["$expr.$eq.1.$literal", /a list/]);
  check({ $contains: { input: field("payload.x"), substr: literal(5) } }, [
    "$expr.$contains",
    /substr of \$contains is a number; it must be a text/,
  ]);
  check({ $and: [field("id")] }, ["$expr.$and.0", /not true or false/]);
  check({ $eq: [{ $convert: { input: field("created_at"), to: "double" } }, literal(1)] }, [
    "$expr.$eq.0.$convert",
    /created_at cannot be converted/,
  ]);
  check(eq(`payload.list.${10 ** 9}`, 1), ["$expr.$eq.0.$getField", /larger than any list/]);
});

test("limits the nesting, operations and literals of a query, and reports an exceeded limit once", () => {
  let deep: object = eq("id", "a");
  for (let depth = 0; depth < 20; depth++) deep = { $not: [deep] };
  const onlyRefusal = (expression: unknown): string => {
    const { refusals } = read(expression);
    assert.equal(refusals.length, 1);
    return refusals[0].message;
  };
  assert.match(onlyRefusal(deep), /more than 8 deep\. /);
  const many = Array.from({ length: 1000 }, (_, index) => eq("id", String(index)));
  assert.match(onlyRefusal({ $or: many }), /more than 40 operations and operands/);
  assert.match(onlyRefusal(eq("id", "x".repeat(300))), /more than 200 bytes together/);
});

test("treats names of built-in object properties like any other name in a path", () => {
  const payload = JSON.parse('{"__proto__": {"a": 1}, "toString": "b"}') as JsonObject;
  for (const [name, expected] of [
    ["payload.__proto__.a", true],
    ["payload.constructor.name", false],
    ["payload.toString", true],
  ] as const)
    assert.equal(
      holds(read({ $and: [{ $convert: { input: field(name), to: "exists" } }] }).condition, {
        ...record,
        payload,
      }),
      expected,
      name,
    );
});

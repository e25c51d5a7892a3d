import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { ServiceError } from "../domain/service-error.ts";
import { parseJsonBody } from "./json-body.ts";
import { parseListBody } from "./list-body.ts";
import { searching } from "../domain/testing/search.ts";

const limits = { depthMax: 6, valuesMax: 10_000 };

/** Parses a text in parts, and returns the whole body, put together again. */
function together(text: string): unknown {
  const { rest, items, itemCount } = parseListBody(
    Buffer.from(text),
    { member: "list", itemsMax: 100 },
    limits,
  );
  const list = [...items];
  assert.equal(list.length, itemCount);
  return itemCount === 0 ? rest : { ...(rest as object), list };
}

/** Returns the value that `read` returns, or the error that it throws. */
function outcome(read: () => unknown): unknown {
  try {
    return { value: read() };
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    return error.faults;
  }
}

function check(text: string): void {
  assert.deepEqual(
    outcome(() => together(text)),
    outcome(() => parseJsonBody(Buffer.from(text), limits)),
    text,
  );
}

test("reads the same item by item as at one time, including the places of faults", () => {
  for (const text of [
    '{"list":[1,{"list":[2]},"]"],"b":"[,]"}',
    '{ "b" : {"list":[1]}, "list" : [ ] }',
    '{"list":[1],"list":[2,3]}',
    '{"list":[1],"list":5}',
    '{"list":{"list":[1]}}',
    '{"l\\u0069st":[1,2]}',
    '{"a\\\\":"\\"","list":["\\\\",1]}',
    '["list",[1]]',
    "",
    "null",
    '{"list":[1,,2]}',
    '{"list":[1,]}',
    '{"list":[,]}',
    '{"list":[1',
    '{"list":[1}]',
    '{"list":[1] "b":2}',
    '{"b":,"list":[1]}',
    '{"list":[{"a":}]}',
    '{"list":[[[[[[1]]]]]]}',
    '{"list":[1,"',
  ]) {
    check(text);
  }
});

test("reads any JSON the same", () => {
  const json = fc.json({ maxDepth: 3 });
  fc.assert(
    fc.property(fc.array(json), json, fc.string(), (items, other, key) => {
      check(`{${JSON.stringify(key)}:${other},"list":[${items.join(" , ")}]}`);
    }),
    searching(100),
  );
});

test("applies the limit of values to each item", () => {
  const item = `[${"0,".repeat(9_000)}0]`;
  const list = (...items: readonly string[]): string => `{"list":[${items.join(",")}]}`;
  assert.deepEqual(Object.keys(together(list(item, item, item)) as object), ["list"]);
  const tooLong = `[${"0,".repeat(10_001)}0]`;
  assert.throws(() => together(list(item, tooLong)), /at most 10000 are allowed/);
});

test("counts items beyond the requested number without keeping them", () => {
  const { items, itemCount } = parseListBody(
    Buffer.from('{"list":[1,2,3]}'),
    { member: "list", itemsMax: 2 },
    limits,
  );
  assert.deepEqual([[...items], itemCount], [[1, 2], 3]);
});

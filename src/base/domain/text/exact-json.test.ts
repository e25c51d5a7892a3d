import assert from "node:assert/strict";
import { test } from "node:test";
import { assert as assertAll, jsonValue, property } from "fast-check";
import { ExactNumber, exactJsonText, parseExactJson, plainJson } from "./exact-json.ts";
import { searching } from "../testing/search.ts";

function keeps(text: string): void {
  assert.equal(exactJsonText(parseExactJson(text)), text);
}

test("keeps the digits of numbers through parsing and writing", () => {
  keeps('{"id":12345678901234567890,"x":1.0,"y":1e3,"z":-0,"w":[9007199254740993,0.10]}');
  keeps('[1,2.5,-3,1e+21,"1.0"]');
  keeps('{"\\\\":[1.0,"\\"2.0"],"{":{"}":[]},"a":{},"b":""}');
});

test("keeps numbers as doubles if a double is written with the same digits", () => {
  assert.deepEqual(parseExactJson('{"a":[1,0.5,-7]}'), { a: [1, 0.5, -7] });
  assert.ok((parseExactJson("[1.0]") as readonly unknown[])[0] instanceof ExactNumber);
});

test("refuses invalid JSON as JSON.parse does", () => {
  for (const text of ["", "{", "01", "[1.0,]", "nul", '{"a":1.0,}', "1.0.0"])
    assert.throws(() => parseExactJson(text), SyntaxError);
});

test("keeps the last of two members with one name, and treats __proto__ as an ordinary member", () => {
  assert.equal(exactJsonText(parseExactJson('{"a":1.0,"a":2.0}')), '{"a":2.0}');
  assert.equal(exactJsonText(parseExactJson('{"__proto__":{"b":1.0}}')), '{"__proto__":{"b":1.0}}');
  assert.deepEqual(Object.keys(plainJson(parseExactJson('{"__proto__":1.0}')) as object), ["__proto__"]);
});

test("reads and writes lists nested deeper than the call stack", () => {
  const depth = 200_000;
  const text = `${"[".repeat(depth)}1.0${"]".repeat(depth)}`;
  assert.ok(exactJsonText(parseExactJson(text)) === text);
});

test("agrees with JSON.parse on every JSON, also with other spellings of its numbers", () => {
  assertAll(
    property(jsonValue(), (value) => {
      const text = JSON.stringify(value);
      assert.deepEqual(plainJson(parseExactJson(text)), JSON.parse(text));
      const other = `[${text},1.50]`;
      assert.deepEqual(plainJson(parseExactJson(other)), JSON.parse(other));
      assert.equal(exactJsonText(parseExactJson(other)), other);
    }),
    searching(100),
  );
});

test("reads texts of many megabytes", () => {
  const text = `["${'x\\"'.repeat(4_000_000)}",1.0]`;
  assert.equal(exactJsonText(parseExactJson(text)), text);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { assert as assertAll, jsonValue, property } from "fast-check";
import { ExactNumber, exactJsonText, parseExactJson, plainJson } from "./exact-json.ts";
import { searching } from "../testing/search.ts";

function keeps(text: string): void {
  assert.equal(exactJsonText(parseExactJson(text)), text);
}

test("numbers come out as they came in", () => {
  keeps('{"id":12345678901234567890,"x":1.0,"y":1e3,"z":-0,"w":[9007199254740993,0.10]}');
  keeps('[1,2.5,-3,1e+21,"1.0"]');
  keeps('{"\\\\":[1.0,"\\"2.0"],"{":{"}":[]},"a":{},"b":""}');
});

test("numbers that a double writes alike stay doubles", () => {
  assert.deepEqual(parseExactJson('{"a":[1,0.5,-7]}'), { a: [1, 0.5, -7] });
  assert.ok((parseExactJson("[1.0]") as readonly unknown[])[0] instanceof ExactNumber);
});

test("what is no JSON is refused as JSON.parse refuses it", () => {
  for (const text of ["", "{", "01", "[1.0,]", "nul", '{"a":1.0,}', "1.0.0"])
    assert.throws(() => parseExactJson(text), SyntaxError);
});

test("the last of two members of a name counts, and __proto__ is a member as any other", () => {
  assert.equal(exactJsonText(parseExactJson('{"a":1.0,"a":2.0}')), '{"a":2.0}');
  assert.equal(exactJsonText(parseExactJson('{"__proto__":{"b":1.0}}')), '{"__proto__":{"b":1.0}}');
  assert.deepEqual(Object.keys(plainJson(parseExactJson('{"__proto__":1.0}')) as object), ["__proto__"]);
});

test("lists nested deeper than a stack is high are read and written", () => {
  const depth = 200_000;
  const text = `${"[".repeat(depth)}1.0${"]".repeat(depth)}`;
  assert.ok(exactJsonText(parseExactJson(text)) === text);
});

test("every JSON means the same as JSON.parse says, with its numbers' texts changed too", () => {
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

test("texts of many megabytes are read", () => {
  const text = `["${'x\\"'.repeat(4_000_000)}",1.0]`;
  assert.equal(exactJsonText(parseExactJson(text)), text);
});

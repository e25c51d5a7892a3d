import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { jsonFaultIndex } from "./json-fault.ts";
import { searching } from "../domain/testing/search.ts";

test("finds the first character that is not allowed", () => {
  const table: readonly (readonly [string, number])[] = [
    ["{", 1],
    ['{"a": }', 6],
    ['{"a": 1,}', 8],
    ["[1 2]", 3],
    ["[1,]", 3],
    ['{"a" 1}', 5],
    ["{a: 1}", 1],
    ["'a'", 0],
    ['"a\nb"', 2],
    ["1 2", 2],
    ["01", 1],
    ["", 0],
  ];
  for (const [text, index] of table) assert.equal(jsonFaultIndex(text), index, text);
});

test("reads every JSON text to its end", () => {
  fc.assert(
    fc.property(fc.json(), (text) => assert.equal(jsonFaultIndex(text), text.length)),
    searching(100),
  );
});

test("finds a place in every text that is not JSON", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      fc.pre(!isJson);
      const index = jsonFaultIndex(text);
      assert.ok(index >= 0 && index <= text.length);
    }),
    searching(100),
  );
});

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { ObjectScanner } from "./object-scanner.ts";
import { searching } from "../../../base/domain/testing/search.ts";

/** Returns how many characters are accepted, and whether they form a complete object. */
function scan(text: string): { readonly count: number; readonly isWhole: boolean } {
  const scanner = new ObjectScanner();
  let count = 0;
  while (count < text.length && !scanner.isComplete) {
    if (!scanner.accepts(text[count])) return { count, isWhole: false };
    count += 1;
  }
  return { count, isWhole: scanner.isComplete };
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) && text.startsWith("{");
  } catch {
    return false;
  }
}

test("accepts each object up to its last character, and no further", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.constantFrom(undefined, 1, "\t"),
      (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        assert.deepEqual(scan(`${text}}`), { count: text.length, isWhole: true });
        assert.equal(scan(text.slice(0, -1)).count, text.length - 1);
      },
    ),
    searching(300),
  );
});

test("accepts exactly the complete objects that JSON.parse accepts", () => {
  const pieces = [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"',
    '"a"',
    "\\",
    "1",
    "-",
    ".5",
    "e3",
    "true",
    "null",
    "tru",
    " ",
    "\n",
    "\u0001",
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 8 }), (parts) => {
      const text = `{"a":${parts.join("")}}`;
      const { count, isWhole } = scan(text);
      assert.equal(isWhole && count === text.length, isObjectText(text), text);
    }),
    searching(2000),
  );
});

test("accepts the strings and numbers of JSON", () => {
  const good = ['"\\u00e9\\n\\/"', "0", "-0.5e+10", "[]", "[1, {}]", "[[\n]]"];
  const bad = [
    '"\\x"',
    '"\\u00g0"',
    '"\n"',
    "01",
    "1.",
    ".5",
    "+1",
    "NaN",
    "True",
    "[1,]",
    "[,]",
    "1 2",
    '"a" "b"',
    "[1}",
  ];
  for (const value of good) assert.deepEqual(scan(`{"a": ${value}}`).isWhole, true, value);
  for (const value of bad) assert.equal(scan(`{"a": ${value}}`).isWhole, false, value);
  for (const text of ["[]", '"a"', "1", " {}", "{,}", "{1:2}", '{"a"}', '{"a":1,}'])
    assert.equal(scan(text).isWhole, false, text);
});

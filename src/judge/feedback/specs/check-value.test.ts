// Tests values against schemas: the official suite of JSON Schema 2020-12, faults with their paths, and schemas that
// require too much work.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Json } from "../../../base/domain/text/json.ts";
import { checkValue } from "./check-value.ts";
import { readFieldSchema } from "./field-schema.ts";

interface Group {
  readonly name: string;
  readonly schema: Json;
  readonly tests: readonly {
    readonly description: string;
    readonly data: Json;
    readonly valid: boolean;
  }[];
}

const groups = readFileSync("test/fixtures/json-schema-suite/draft2020-12.jsonl", "utf8")
  .trimEnd()
  .split("\n")
  // Safe cast: the lines of the suite's files have this shape.
  .map((line) => JSON.parse(line) as Group);

/** Returns the faults of a value under a schema, each with its path and message. */
function faultsOf(schema: Json, value: Json): readonly string[] {
  const { schema: read, faults } = readFieldSchema(schema);
  assert.ok(read !== null, JSON.stringify(faults));
  return checkValue(read, value).map(({ path, message }) => `${path.join(".")}: ${message}`);
}

/** Returns the faults of the schema itself, each with its path and message. */
function refusalsOf(schema: Json): readonly string[] {
  return readFieldSchema(schema).faults.map(({ path, message }) => `${path.join("/")}: ${message}`);
}

test("passes all tests of the official suite, except groups whose schema it refuses", () => {
  const refused: string[] = [];
  for (const { name, schema, tests } of groups) {
    // Skips tests in which formats must be validated. Here, as by default in the standard, formats are only
    // annotations.
    if (name.startsWith("optional/format")) continue;
    const { schema: read, faults } = readFieldSchema(schema);
    if (read === null) refused.push(`${name}: ${faults[0].path.at(-1)}`);
    else {
      for (const { description, data, valid } of tests) {
        assert.equal(checkValue(read, data).length === 0, valid, `${name}: ${description}`);
      }
    }
  }
  const subjects = [...new Set(refused.map((line) => line.slice(line.lastIndexOf(": ") + 2)))].sort();
  assert.deepEqual(subjects, [
    "$dynamicRef",
    "$id",
    "$ref",
    // Patterns that are not in the standard's dialect of regular expressions, or that cannot be matched in bounded
    // time.
    "\\p{Letter}cole",
    "dependencies",
    "pattern",
    "unevaluatedItems",
    "unevaluatedProperties",
  ]);
  assert.ok(groups.length - refused.length > 200, `${refused.length} of ${groups.length} are refused`);
});

test("reports the kind of fault, its path, and the allowed values", () => {
  assert.deepEqual(faultsOf({ type: "integer", minimum: 1, maximum: 5 }, 9), [
    ": 9 is greater than the maximum of 5",
  ]);
  const schema = {
    type: "object",
    properties: { tone: { enum: ["warm", "cold"] }, marks: { items: { type: "number" }, maxItems: 2 } },
    required: ["tone", "why"],
    additionalProperties: false,
  };
  assert.deepEqual(
    faultsOf(schema, { tone: "hot", marks: [1, "2", 3], else: 1 }),
    [
      'tone: "hot" is not one of "warm", "cold"',
      'marks.1: "2" is not of type number',
      "marks: the list has 3 items; the most is 2",
      'the object lacks the property "why"',
      "else: is a property that the schema does not name",
    ].map((line) => (line.startsWith("the object") ? `: ${line}` : line)),
  );
  assert.deepEqual(faultsOf({ pattern: "^a+$", maxLength: 3 }, "baaaa"), [
    ': "baaaa" does not match the pattern "^a+$"',
    ': "baaaa" has 5 characters; the most is 3',
  ]);
});

test("refuses a schema with malformed keywords, and names the path of each", () => {
  assert.deepEqual(
    refusalsOf({ type: "int", minimum: "1", properties: { a: { pattern: "(" }, b: 3 }, $ref: "#/$defs/none" })
      .length,
    5,
  );
  assert.deepEqual(refusalsOf([]), [": the list is no schema; write an object or a boolean"]);
  const [pattern] = refusalsOf({ items: { pattern: "(a)\\1" } });
  assert.match(pattern, /^items\/pattern: the pattern "\(a\)\\\\1" is not taken: .*back reference/);
  assert.match(refusalsOf({ enum: "x".repeat(70_000) })[0], /70011 characters of JSON; the limit is 65536/);
});

test("matches patterns in linear time that cause catastrophic backtracking in other engines", () => {
  const schema = { pattern: "^(a+)+$" };
  assert.equal(faultsOf(schema, `${"a".repeat(100_000)}b`).length, 1);
  assert.equal(faultsOf(schema, "a".repeat(100_000)).length, 0);
});

test("aborts the check if a schema requires too much work, and reports that", () => {
  const doubling = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [
      `d${index}`,
      { allOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
    ]),
  );
  const schema = { $defs: { ...doubling, d30: { type: "integer" } }, $ref: "#/$defs/d0" };
  assert.match(faultsOf(schema, 1)[0], /cannot be checked: .*more than 200000 steps/);
  assert.match(faultsOf({ $ref: "#" }, 1)[0], /cannot be checked: .*without end/);
  const wide = { items: { enum: Array.from({ length: 5000 }, (_, index) => `${index}`) } };
  assert.deepEqual(faultsOf(wide, Array(20).fill("4999")), []);
  assert.match(faultsOf(wide, Array(200).fill("4999"))[0], /more than 200000 steps/);
});

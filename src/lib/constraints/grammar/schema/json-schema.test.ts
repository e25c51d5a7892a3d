import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { ConstraintOptions } from "../../../../base/domain/constraint.ts";
import { parseExactJson } from "../../../../base/domain/text/exact-json.ts";
import type { Json } from "../../../../base/domain/text/json.ts";
import { readLanguage } from "../language.ts";
import { accepts } from "../testing/accepts.ts";
import type { Language } from "../language.ts";
import { ConstraintRefusal, defaultGrammarLimits } from "../../regex/limits.ts";
import { checkRefusal } from "../../regex/testing/check-refusal.ts";
import { CompiledConstraint } from "../matcher.ts";
import { jsonSchema } from "../testing/make-constraints.ts";
import { isValid } from "../testing/naive-validator.ts";
import { schemas, values } from "../testing/random-schemas.ts";
import { vocabularyOf } from "../testing/vocabularies.ts";
import { randomWalk } from "../testing/walk.ts";
import { searchCount, searching } from "../../../../base/domain/testing/search.ts";

const vocabulary = vocabularyOf([
  '{"',
  '":',
  '",',
  '"}',
  "a",
  "ab",
  "true",
  "null",
  "[]",
  "{}",
  "},",
  '":"',
  "1.5",
  "é",
  "\\u00",
]);

const read = (schema: Json, options: Partial<ConstraintOptions> = {}): Language =>
  readLanguage(jsonSchema(schema, options), defaultGrammarLimits);

/** Compiles a schema. Returns null if it is refused, or "no values" if no value satisfies it. */
function readOrRefuse(schema: Json): Language | "no values" | null {
  try {
    return read(schema);
  } catch (error) {
    assert.ok(error instanceof ConstraintRefusal, String(error));
    return error.kind === "unsatisfiable" ? "no values" : null;
  }
}

test("accepts exactly the values that satisfy the schema", () => {
  let servedCount = 0;
  let validCount = 0;
  fc.assert(
    fc.property(schemas, fc.array(values, { minLength: 12, maxLength: 12 }), (schema, samples) => {
      const language = readOrRefuse(schema);
      if (language === null) return;
      servedCount += 1;
      for (const value of samples) {
        const expected = isValid(schema, value);
        const accepted: boolean =
          language !== "no values" && accepts(language, language.textOf?.(value) ?? "");
        assert.equal(accepted, expected, JSON.stringify({ schema, value }));
        validCount += expected ? 1 : 0;
      }
    }),
    searching(100),
  );
  assert.ok(
    servedCount > searchCount(75) && validCount > searchCount(150),
    `${servedCount} schemas, ${validCount} valid values`,
  );
});

/** Schemas as JSON text, each with texts that it accepts and texts that it rejects. */
const digits: readonly (readonly [schema: string, allowed: readonly string[], others: readonly string[]])[] =
  [
    ['{"const":1234567890123456789}', ["1234567890123456789"], ["1234567890123456800"]],
    ['{"enum":[9007199254740993,-0.0,1.0]}', ["9007199254740993", "0", "1"], ["9007199254740992", "1.0"]],
    ['{"const":0.1000000000000000055}', ["0.1000000000000000055"], ["0.1"]],
    ['{"const":12.5e3}', ["12500"], ["1.25e4"]],
    [
      '{"const":{"a":[12345678901234567890]}}',
      ['{"a":[12345678901234567890]}'],
      ['{"a":[12345678901234567000]}'],
    ],
    ['{"maximum":9223372036854775807,"type":"integer"}', ["9223372036854775807"], ["9223372036854775808"]],
    ['{"minimum":9007199254740993,"maximum":9007199254740993}', ["9007199254740993"], ["9007199254740992"]],
    ['{"exclusiveMinimum":1e20,"type":"integer"}', ["100000000000000000001"], ["100000000000000000000"]],
    ['{"type":"array","minItems":2.0,"maxItems":2e0}', ["[0,0]"], ["[0]", "[0,0,0]"]],
  ];

test("keeps the digits of a schema's numbers", () => {
  for (const [schema, allowed, others] of digits) {
    const language = readLanguage({ ...jsonSchema(true), kind: "json-schema", schema }, defaultGrammarLimits);
    for (const text of allowed) assert.ok(accepts(language, text), `${schema}: ${text}`);
    for (const text of others) assert.ok(!accepts(language, text), `${schema}: ${text}`);
    const [first] = allowed;
    assert.equal(language.textOf?.(parseExactJson(first)), first);
  }
  const refused = (schema: string) => () =>
    readLanguage({ ...jsonSchema(true), kind: "json-schema", schema }, defaultGrammarLimits);
  assert.throws(refused('{"const":1e999}'), { kind: "malformed", place: "#/const" });
  assert.throws(refused('{"maxItems":2.5}'), { kind: "malformed", place: "#/maxItems" });
});

test("texts generated under the masks are valid and reach no dead end", () => {
  let finishedCount = 0;
  const draws = fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }));
  fc.assert(
    fc.property(schemas, draws, (schema, numbers) => {
      const language = readOrRefuse(schema);
      if (language === null || language === "no values") return;
      const walk = randomWalk(new CompiledConstraint(language, vocabulary), () => numbers.next().value, 60);
      if (!walk.isFinished) return;
      finishedCount += 1;
      const text = new TextDecoder().decode(walk.text);
      assert.ok(isValid(schema, JSON.parse(text) as Json), JSON.stringify({ schema, text }));
    }),
    searching(100),
  );
  assert.ok(finishedCount > searchCount(35), `${finishedCount} walks came to an end`);
});

/** Schemas, each with texts that they accept and texts that they reject. */
const cases: readonly (readonly [schema: Json, accepted: readonly string[], others: readonly string[]])[] = [
  [{ type: "integer" }, ["0", "-12"], ["01", "1.0", "1e3", "+1", ""]],
  [{ type: "number" }, ["0.50", "1e3", "-1.5E-7"], [".5", "1.", "NaN"]],
  [{ minimum: 3, maximum: 120, type: "integer" }, ["3", "119", "120"], ["2", "121", "-3", "0"]],
  [
    { exclusiveMinimum: -1.5, type: "number" },
    ["-1.4", "-1.49", "0", "7.25"],
    ["-1.5", "-1.50", "-2", "1e3"],
  ],
  [{ type: "number", multipleOf: 0.01 }, ["1.25", "3", "0.10", "0.500"], ["1.255", "0.001"]],
  [{ type: "integer", multipleOf: 7 }, ["0", "-7", "70000000000000"], ["8", "70000000000000000"]],
  [
    { type: "integer", multipleOf: 86_400, minimum: 1 },
    ["86400", "123456787286400"],
    ["86401", "0", "123456789012345"],
  ],
  [{ type: "integer", multipleOf: 0.5 }, ["12345678901234567890"], ["0.5"]],
  [{ type: ["integer", "null"], multipleOf: 0.5 }, ["12345678901234567890", "null"], ["0.5"]],
  [{ type: "integer", multipleOf: 1 }, ["9007199254740993", "-1"], ["0.5"]],
  [{ multipleOf: 1 }, ["1000000000000000000000", '"a"'], ["0.5"]],
  [{ not: { type: "number", multipleOf: 1 } }, ["0.5", "null"], ["9007199254740993", "1.0"]],
  [{ const: 1.5 }, ["1.5"], ["1.50", "1"]],
  [
    {
      type: "object",
      anyOf: [{ properties: { a: { const: 1 } } }, { patternProperties: { "^b": { type: "null" } } }],
      required: ["c"],
      unevaluatedProperties: { type: "string" },
    },
    ['{"c":"x"}', '{"a":1,"c":"","b":null}', '{"c":"","a":"x"}', '{"a":1,"c":"","d":"y"}'],
    ['{"a":2,"c":""}', '{"c":1}', '{"a":2,"c":"","b":1}', '{"c":"","d":null}'],
  ],
  [{ type: "number", not: { const: 1.5 } }, ["1.51", "1"], ["1.5", "1.50"]],
  [
    { type: "string", maxLength: 2 },
    ['"é"', '"\\ud83d\\ude00😀"', '"\\n\\u0041"', '""'],
    ['"abc"', '"\n"', '"\\ud83d"'],
  ],
  [{ type: "string", pattern: "^a/b$" }, ['"a/b"', '"a\\/b"', '"\\u0061/b"'], ['"ab"']],
  [{ enum: ["é", "a", 1, null, [1, { b: 2 }]] }, ['"é"', "1", "null", '[1,{"b":2}]'], ['"b"', "[1]"]],
  [
    { properties: { a: { type: "null" } }, required: ["a"], type: "object" },
    ['{"a":null}', '{ "a" : null , "b":[{}] }'],
    ["{}", '{"b":1,"a":null}', '{"\\u0061":null}', '{"a":null,"\\u0061":1}'],
  ],
  [
    { type: "array", items: { type: "string" }, uniqueItems: true },
    ["[]", '["a"]', '["a", "b" ,"ab"]', '["a\\n","\\u001f\\"",""]'],
    ['["a","a"]', '["a","b","a"]', '["a","\\u0061"]', '["\\u0061","a"]'],
  ],
  [
    { type: "array", items: { type: "integer" }, uniqueItems: true },
    ["[1,11,111]", "[11,1,-1]", "[9007199254740993,9007199254740992]"],
    ["[1,1]", "[11,1,11]", "[0,-0]", "[1,1.0]"],
  ],
  [
    { items: { type: ["number", "null"] }, uniqueItems: true, maxItems: 3 },
    ["[1,1.5,0.15]", "[null,-0.5]", '"a"'],
    ["[1,1.0]", "[1.50]", "[0.5,0.50]", "[null,null]", "[1,2,3,4]"],
  ],
  [
    { type: "array", items: { type: "boolean" }, uniqueItems: true, minItems: 2 },
    ["[true,false]", "[false,true]"],
    ["[true]", "[true,true]", "[true,false,true]"],
  ],
  [
    { type: "object", minProperties: 2 },
    ['{"a":1,"b":2}', '{"a":1,"aa":{},"b":[]}'],
    ["{}", '{"a":1}', '{"a":1,"a":2}', '{"a":1,"\\u0061":2}'],
  ],
  [
    {
      type: "object",
      properties: { a: { type: "null" } },
      minProperties: 3,
      propertyNames: { enum: ["a", "b", "c"] },
    },
    ['{"a":null,"c":1,"b":2}'],
    ['{"b":1,"c":2}', '{"a":null,"b":1,"b":2}', '{"a":null,"b":1,"c":2,"d":3}'],
  ],
  [
    {
      type: "array",
      items: {
        type: "object",
        properties: { a: { type: "string" }, b: { type: "integer" } },
        required: ["a"],
      },
      uniqueItems: true,
    },
    ["[]", '[{"a":"x"},{"a":"y"},{"a":"x","b":1}]', '[{"a":"x","c":[1]},{"a":"x","c":[11]}]'],
    ['[{"a":"x"},{"a":"x"}]', '[{"a":"x"}, {"a" : "x"}]', '[{"a":"x","c":1,"d":2},{"a":"x","d":2,"c":1}]'],
  ],
  [
    {
      type: "array",
      items: { properties: { a: { type: "boolean" } }, additionalProperties: false },
      uniqueItems: true,
    },
    ['[{},{"a":true},{"a":false},1,[1],[]]'],
    ['[{},{"a":true},{"a":true}]', "[[1],[1]]", "[[],[]]", '[{"a":true,"a":false}]'],
  ],
  [
    {
      type: "array",
      allOf: [{ contains: { const: 1 } }, { contains: { minimum: 1 }, maxContains: 2 }],
      maxItems: 3,
    },
    ["[1]", "[2,1]", "[0,1,2]", "[1,0,-1]"],
    ["[]", "[2,2]", "[1,1,1]", "[1,2,3]", "[1,0,0,0]"],
  ],
  [
    {
      type: "array",
      prefixItems: [{ type: "string" }],
      allOf: [
        { contains: { type: "string" }, maxContains: 1 },
        { contains: { const: 0 }, minContains: 2 },
      ],
      items: { type: ["integer", "string"] },
      minItems: 4,
    },
    ['["a",0,0,1]', '["a",2,0,0,0]'],
    ['["a",0,0]', '["a","b",0,0]', '["a",0,1,1]', "[0,0,0,0]"],
  ],
  [
    {
      oneOf: [{ items: { type: "integer" } }, { items: { const: 1 } }, { items: { minimum: 2 } }],
      type: "array",
    },
    ["[3,1]", '["a"]'],
    ["[]", "[1]", "[2]", "[1.5]"],
  ],
  [
    {
      type: "object",
      allOf: [
        { not: { propertyNames: { pattern: "^a" } } },
        { not: { propertyNames: { pattern: "^b" } } },
        { not: { additionalProperties: { type: "integer" } } },
      ],
    },
    ['{"a":1,"b":"x"}', '{"c":true}', '{"a":true,"b":1}'],
    ["{}", '{"a":1}', '{"b":"x"}', '{"c":1}', '{"a":1,"b":2}'],
  ],
  [
    {
      type: "object",
      properties: { a: { type: "integer" } },
      allOf: [
        { not: { additionalProperties: { minimum: 3 } } },
        { not: { propertyNames: { pattern: "^[ab]" } } },
      ],
      maxProperties: 2,
    },
    ['{"a":1,"c":1}', '{"c":1}', '{"a":4,"d":1}'],
    ["{}", '{"a":1}', '{"a":1,"b":1,"c":1}', '{"c":4}'],
  ],
  [
    { type: "object", not: { not: { not: { not: { additionalProperties: { const: 1 } } } } } },
    ["{}", '{"a":1}'],
    ['{"a":2}'],
  ],
  // If a name is repeated, JSON parsers keep the last value.
  [
    { type: "object", not: { additionalProperties: { type: "string" } } },
    ['{"a":1,"b":"x"}', '{"b":"x","a":1}'],
    ['{"a":"x"}', '{"a":1,"a":"x"}'],
  ],
  [{ type: "array", items: { $ref: "#" } }, ["[]", "[[],[[]]]", "[ [ ] ]"], ["[1]", "[[]"]],
  [{ $ref: "#/$defs/a%20b", $defs: { "a b": { $anchor: "x", type: "null" } } }, ["null"], ["1"]],
  [{ $ref: "#x", $defs: { y: { $anchor: "x", const: 1 } } }, ["1"], ["2"]],
  [
    {
      $id: "https://a.example/s",
      $ref: "t#/$defs/u",
      $defs: { t: { $id: "t", $defs: { u: { const: 7 } } } },
    },
    ["7"],
    ["8"],
  ],
  [
    {
      $schema: "https://json-schema.org/draft/2019-09/schema",
      $ref: "#/definitions/n",
      maximum: 2,
      definitions: { n: { type: "integer" } },
    },
    ["2"],
    ["3", "1.5"],
  ],
  // In drafts up to 7, all other keywords of a schema with a `$ref` have no effect.
  [
    {
      $schema: "http://json-schema.org/draft-07/schema#",
      items: { $ref: "#/definitions/n", $id: "http://a.example/", maximum: 2, type: "string" },
      definitions: { n: { type: "integer" } },
    },
    ["[2,3]"],
    ["[1.5]", '["a"]'],
  ],
  // An excluded schema is complemented part by part, as far as the complement of each part can be expressed.
  [
    { type: "object", not: { not: { not: { additionalProperties: { type: "string" } } } } },
    ['{"a":1}'],
    ["{}", '{"a":"x"}'],
  ],
  [
    {
      type: "object",
      not: { anyOf: [{ not: { additionalProperties: { const: 1 } } }, { required: ["a"] }] },
    },
    ["{}", '{"b":1}'],
    ['{"b":2}', '{"a":1}'],
  ],
  [
    { not: { oneOf: [{ not: { propertyNames: { pattern: "^a" } } }, { type: "object", required: ["b"] }] } },
    ["1", '{"a":1}', '{"b":1}'],
    ['{"c":1}'],
  ],
  [{ not: { if: { type: "object" }, else: { not: { minItems: 1 } } } }, ["[1]", "[1,2]"], ["[]", "{}"]],
  [
    {
      not: { not: { properties: { a: { const: 1 } } } },
      type: "object",
      unevaluatedProperties: false,
    },
    ["{}"],
    ['{"a":1}'],
  ],
  [{ items: [{ const: 1 }], additionalItems: false }, ["[]", "[1]"], ["[2]", "[1,1]"]],
  [
    {
      minimum: 2,
      exclusiveMinimum: true,
      type: "integer",
      $schema: "http://json-schema.org/draft-04/schema#",
    },
    ["3"],
    ["2"],
  ],
  [{ type: "string", nullable: true }, ["null", '"a"'], ["1"]],
  [
    { type: "string", format: "date" },
    ['"2024-02-29"', '"1999-12-31"'],
    ['"2023-02-29"', '"2024-13-01"', '"2024-04-31"'],
  ],
  [
    { type: "string", format: "date-time" },
    ['"2024-02-29T23:59:00.5Z"', '"2024-01-01T00:00:00+02:00"'],
    ['"2024-02-29"', '"2024-01-01T24:00:00Z"'],
  ],
  [{ type: "string", format: "duration" }, ['"P1Y2M3DT4H"', '"PT5M"', '"P2W"'], ['"P"', '"P1H"', '"PT"']],
  [{ type: "string", format: "email" }, ['"a.b@c.org"'], ['"a"', '"a..b@c"', '"@c"']],
  [
    { type: "string", format: "ipv6" },
    ['"::1"', '"1:2:3:4:5:6:7:8"', '"::ffff:1.2.3.4"', '"fe80::1:2"'],
    ['":::"', '"1:2:3"', '"1::2::3"', '"12345::"'],
  ],
  [{ type: "string", format: "ipv4" }, ['"127.0.0.1"'], ['"256.0.0.1"', '"1.2.3"']],
  [
    { type: "string", format: "iri" },
    ['"http://ƒøø.ßår/?q=\u{f0000}"', '"http://[V1.fe]"'],
    ['"http://ƒøø.ßår/\u{f0000}"', '"a b"'],
  ],
  [
    { type: "string", format: "uri" },
    ['"https://u@a.example:8/b?c#d"', '"urn:x:y"'],
    ['"//a"', '"a b:c"', '"http://[::1"'],
  ],
  [{ type: "string", format: "hostname" }, ['"a-b.c"'], ['"-a"', '"a..b"', '"a_b"']],
  [{ type: "string", format: "uuid" }, ['"123e4567-e89b-12d3-a456-426614174000"'], ['"123e4567"']],
  [{ format: "int32" }, ["1", '"a"'], []],
];

test("accepts exactly the texts that the keywords allow", () => {
  for (const [schema, accepted, others] of cases) {
    const language = read(schema);
    for (const text of accepted) assert.ok(accepts(language, text), `${JSON.stringify(schema)} ${text}`);
    for (const text of others) assert.ok(!accepts(language, text), `${JSON.stringify(schema)} ${text}`);
  }
});

test("refuses a keyword that is not supported exactly and names its location", () => {
  const branches = { oneOf: [{ required: ["a"] }, { uniqueItems: true }] };
  for (const [schema, kind, subject, place] of [
    [
      { properties: { a: { not: { unevaluatedProperties: false } } } },
      "not-exact",
      "unevaluatedProperties",
      "#/properties/a/not/unevaluatedProperties",
    ],
    [
      { contains: { const: 1 }, minContains: 0, unevaluatedItems: false },
      "not-exact",
      "unevaluatedItems",
      "#/unevaluatedItems",
    ],
    [{ items: { contains: {}, uniqueItems: true } }, "not-exact", "uniqueItems", "#/items/uniqueItems"],
    [
      {
        type: "array",
        items: { type: ["array", "null"], items: { pattern: "^[ab]$", type: "string" } },
        uniqueItems: true,
      },
      "not-exact",
      "uniqueItems",
      "#/uniqueItems",
    ],
    [branches, "not-exact", "uniqueItems", "#/oneOf/1/uniqueItems"],
    [{ pattern: "(a)\\1" }, "not-exact", "a back reference", "#/pattern, position 3"],
    [{ $ref: "https://example.org/other.json" }, "not-exact", "$ref", "#/$ref"],
    [{ $ref: "#/$defs/none" }, "malformed", "$ref", "#/$ref"],
    [{ allOf: [{ $ref: "#" }] }, "malformed", "$ref", "#"],
    [{ properties: { "a/b": { type: "text" } } }, "malformed", "type", "#/properties/a~1b/type"],
    [{ minItems: -1 }, "malformed", "minItems", "#/minItems"],
    [{ required: "a" }, "malformed", "required", "#/required"],
    [{ type: "object", required: ["a"], properties: { a: false } }, "unsatisfiable", "json-schema", ""],
    [
      {
        allOf: Array.from({ length: 12 }, (_, i) => ({
          anyOf: [{ items: { minimum: i } }, { items: { maximum: -1 - i } }],
        })),
      },
      "limit",
      "alternatives",
      "#/allOf",
    ],
  ] as const)
    checkRefusal(() => read(schema as Json), [kind, subject, place], JSON.stringify(schema));
});

test("reports an exceeded limit with the location and keyword being read", () => {
  const overlapping = Array.from({ length: 14 }, (_, index) => ({
    properties: { [`a${index}`]: { type: "integer" }, [`b${index}`]: { type: "integer" } },
  }));
  const schema = { properties: { deep: { items: { oneOf: overlapping } }, other: { enum: [1, 2] } } };
  const where = "#/properties/deep/items/oneOf";
  assert.throws(() => read(schema), {
    kind: "limit",
    subject: "compileSteps",
    place: where,
    message: new RegExp(`compileSteps of 60000 at ${where}, in the keyword oneOf\\. `),
  });
});

test("reports a limit for nesting that would overflow the stack", () => {
  const nested = (wrap: (inner: Json) => Json) =>
    Array.from({ length: 5_000 }).reduce<Json>((inner) => wrap(inner), true);
  assert.throws(() => read(nested((inner) => ({ items: inner }))), /limit nesting/);
  assert.throws(() => read(nested((inner) => ({ allOf: [inner] }))), /limit nesting/);
});

test("a schema that always requires another instance of itself has no values", () => {
  assert.throws(() => read({ type: "object", properties: { a: { $ref: "#" } }, required: ["a"] }), /No text/);
  assert.ok(accepts(read({ type: "object", properties: { a: { $ref: "#" } } }), '{"a":{"a":{}}}'));
});

test("allows free whitespace, none, or whitespace that matches a pattern", () => {
  const schema = { type: "object", properties: { a: { type: "array" } }, required: ["a"] };
  assert.ok(accepts(read(schema), '{\n\t"a" :\r [ 1 ,2 ]\n}'));
  // The amount of whitespace is limited, so that an answer ends.
  const spread = (blanks: string): readonly string[] => [
    `{${blanks}"a":[]}`,
    `{"a"${blanks}:[]}`,
    `{"a":${blanks}[]}`,
    `{"a":[1${blanks},2]}`,
    `{"a":[1,${blanks}2]}`,
    `{"a":[{}${blanks}]${blanks}}`,
  ];
  const deep = " ".repeat(64);
  for (const blanks of [
    "    ",
    "\t\t",
    "\n",
    "\n\n",
    "\r\n\r\n",
    `\n${deep}`,
    `\n\n${deep}`,
    `\r\n\t${deep.slice(1)}`,
  ])
    for (const text of spread(blanks)) assert.ok(accepts(read(schema), text), JSON.stringify(text));
  for (const blanks of ["     ", "\n\n\n", `\n${deep} `, ` \n`, "\n \n", " ".repeat(31)])
    for (const text of spread(blanks)) {
      assert.ok(!accepts(read(schema), text), JSON.stringify(text));
      assert.ok(accepts(read(schema, { whitespacePattern: "\\s*" }), text), JSON.stringify(text));
    }
  for (const indent of [1, 2, 4, 8, "\t"]) {
    const shown = JSON.stringify({ a: [{ b: [1, {}] }, []] }, null, indent);
    assert.ok(accepts(read(schema), shown), shown);
  }
  const compact = read(schema, { allowsAnyWhitespace: false });
  assert.ok(accepts(compact, '{"a":[1,2]}') && !accepts(compact, '{"a": [1,2]}'));
  const spaced = read(schema, { whitespacePattern: "[ ]?" });
  assert.ok(
    accepts(spaced, '{ "a" : [1 , 2]}') && !accepts(spaced, '{  "a":[]}') && !accepts(spaced, '{\n"a":[]}'),
  );
});

test("limits a whitespace pattern to JSON whitespace, and refuses a pattern that then matches nothing", () => {
  const schema = { type: "array", minItems: 1 };
  const spaced = read(schema, { whitespacePattern: "\\s|x" });
  assert.ok(accepts(spaced, "[\n1\t]") && !accepts(spaced, "[\v1 ]") && !accepts(spaced, "[x1 ]"));
  assert.ok(!accepts(spaced, "[1]"));
  for (const [pattern, kind] of [
    ["x", "malformed"],
    [" (?!.*)", "malformed"],
    ["[", "malformed"],
    ["(\\s)\\1", "not-exact"],
  ] as const) {
    assert.throws(
      () => read(schema, { whitespacePattern: pattern }),
      (error: unknown) =>
        error instanceof ConstraintRefusal &&
        error.kind === kind &&
        error.place.startsWith("whitespace_pattern") &&
        error.message.includes("whitespace_pattern"),
      pattern,
    );
  }
});

test("forbids undeclared names if additional properties are not allowed", () => {
  const options = { allowsAdditionalProperties: false };
  const schema = {
    type: "object",
    properties: { a: true },
    patternProperties: { "^x": { type: "null" } },
  };
  assert.ok(accepts(read(schema, options), '{"a":{"b":1},"x":null}'));
  assert.ok(!accepts(read(schema, options), '{"b":1}'));
});

test("serializes a value in the schema's order", () => {
  const schema = {
    properties: { b: { properties: { d: true, c: true } }, a: true },
    items: { required: ["z"] },
  };
  const language = read(schema);
  assert.equal(language.textOf?.({ x: 1, a: 2, b: { c: 1, d: 2 } }), '{"b":{"d":2,"c":1},"a":2,"x":1}');
});

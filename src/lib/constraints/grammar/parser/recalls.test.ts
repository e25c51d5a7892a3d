// Tests constraints whose values must not repeat, with tokens that contain several values.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../../base/domain/random.ts";
import type { Json } from "../../../../base/domain/text/json.ts";
import { checkMasks } from "../testing/check-masks.ts";
import { checkWalks } from "../testing/check-walks.ts";
import { jsonSchema } from "../testing/make-constraints.ts";
import { vocabularyOf } from "../testing/vocabularies.ts";
import { searchCount, searchSeed } from "../../../../base/domain/testing/search.ts";

const unique = (items: Json, more: object = {}): Json => ({
  type: "array",
  items,
  uniqueItems: true,
  ...more,
});

const schemas: readonly Json[] = [
  unique({ type: "string", pattern: "^[ab]*$" }),
  unique({ type: "string", pattern: "^[ab]{0,2}$" }, { minItems: 6 }),
  unique({ type: "string", pattern: "^(a|bb?b?)$" }),
  unique({ enum: ["a", "ab", "b", 1, 11, null] }, { minItems: 5 }),
  unique({ type: "integer", minimum: 0, maximum: 12 }, { minItems: 3 }),
  unique({ type: "integer" }),
  unique({ type: ["number", "boolean"] }),
  {
    type: "object",
    minProperties: 3,
    propertyNames: { pattern: "^[ab]*$" },
    additionalProperties: { const: 1 },
  },
  {
    type: "object",
    minProperties: 3,
    propertyNames: { enum: ["a", "b", "ab", "bb"] },
    additionalProperties: { const: 1 },
  },
  {
    type: "object",
    properties: { a: { const: 1 } },
    minProperties: 3,
    maxProperties: 4,
    additionalProperties: { enum: [1, 11] },
  },
  { type: "object", not: { additionalProperties: { const: 1 } }, propertyNames: { enum: ["a", "b", "ab"] } },
  {
    anyOf: [
      unique({ type: "string", pattern: "^a*$" }),
      { type: "array", items: { enum: ["a", "b"] }, minItems: 3 },
    ],
  },
];

const letters: Json = { type: "string", pattern: "^[ab]*$" };
const closed = (properties: Record<string, Json>): Json => ({
  type: "object",
  properties,
  required: Object.keys(properties).slice(0, 1),
  additionalProperties: false,
});

/** Schemas whose items are objects or arrays, which are compared by value. */
const compound: readonly Json[] = [
  unique(closed({ a: letters, b: { type: "boolean" } })),
  unique(closed({ b: { type: "boolean" }, a: { enum: ["a", "b"] } }), { minItems: 2 }),
  unique(closed({ a: { enum: [1, 11] } })),
  unique({ type: "object", propertyNames: letters, additionalProperties: { enum: [1, 11] } }),
  unique({ anyOf: [closed({ a: { const: 1 }, b: letters }), closed({ b: letters, a: { const: 1 } })] }),
  unique({ type: "array", items: letters }),
  unique({ type: ["array", "boolean"], items: unique({ enum: ["a", "b"] }), maxItems: 2 }),
  unique(unique(closed({ a: { enum: ["a", "b"] } }))),
  unique({ anyOf: [{ const: "a" }, closed({ a: unique(letters) })] }),
];

const pieces = [
  '["',
  '"]',
  '","',
  '"a"',
  '"a","',
  'a","a',
  'a","',
  ',"a"',
  '","a","',
  '"b","a"',
  '","ab"',
  "aa",
  "ab",
  "bb",
  '","a"]',
  ',"',
  "1,1",
  ",1",
  "1,",
  "11",
  "1,11",
  "[1,",
  ",11,",
  ",12",
  "12,",
  "1]",
  "[0,",
  "0,",
  "true,",
  ",false",
  '{"',
  '":1',
  '":1,"',
  '":1,"a":1',
  'a":1,"',
  ',"a":1',
  '":11,"a',
  '":1}',
  "1}",
  '1,"b":1,"',
  "null,",
  ',"b":1}',
  ", ",
  '[{"a":',
  '{"a":"',
  '},{"a":"',
  '"},{"',
  '{"b":',
  'true},{"b":',
  '"b","b":',
  '"a"},{"a":"a"',
  '},{"a":"a"}',
  ',{"',
  "},{",
  "},",
  '{"a":1},{"a":11}',
  '1},{"a":1',
  '"],["',
  '["a"],["a',
  '"],["a"]',
  "],[",
  "[]",
  "{}",
  ",{}",
  "[[",
  "]]",
];
const vocabulary = vocabularyOf(pieces);

test("refuses tokens that repeat a value and allows all others", () => {
  const random = seededRandom(searchSeed, "recalls");
  let triedCount = 0;
  for (const schema of [...schemas, ...compound]) {
    for (let turn = 0; turn < searchCount(2); turn++)
      triedCount += checkMasks(jsonSchema(schema), [vocabulary], {
        random,
        placeCount: 4,
        triedTokenCount: vocabulary.tokenCount,
      });
  }
  assert.ok(triedCount > searchCount(15_000), `${triedCount} tokens were tried`);
});

test("random texts of tokens with several values are valid and reach no dead end", () => {
  const random = seededRandom(searchSeed, "walks over recalls");
  for (const schema of [...schemas, ...compound]) {
    const { judged } = checkWalks(schema, vocabulary, { random, walkCount: searchCount(10) });
    assert.ok(judged > searchCount(1), `${JSON.stringify(schema)}: ${judged} texts came to an end`);
  }
});

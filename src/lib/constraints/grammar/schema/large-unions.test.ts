// Compiles realistic schemas of realistic size within the default limits, and computes a mask for each token of a
// value. Another validator gives the expected results, or they follow from how the value was made.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Constraint } from "../../../../base/domain/constraint.ts";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import type { ExactJson } from "../../../../base/domain/text/exact-json.ts";
import { defaultGrammarLimits, ConstraintRefusal } from "../../regex/limits.ts";
import type { Json } from "../../../../base/domain/text/json.ts";
import { readLanguage } from "../language.ts";
import { accepts } from "../testing/accepts.ts";
import type { Language } from "../language.ts";
import { CompiledConstraint } from "../matcher.ts";
import { choice, jsonSchema } from "../testing/make-constraints.ts";
import { isValid } from "../testing/naive-validator.ts";
import { conditional, unionSchemas, unionValues } from "../testing/random-unions.ts";
import { byteLevelTokens, vocabularyOf } from "../testing/vocabularies.ts";
import { randomWalk } from "../testing/walk.ts";
import { buildTokenTrie } from "../trie/token-trie.ts";
import { searchCount, searchedOf, searching } from "../../../../base/domain/testing/search.ts";

const trie = buildTokenTrie({ bytes: byteLevelTokens(4_096) });

/** Writes a text with one token per byte, and asserts that each mask allows the token. */
function write(constraint: Constraint, text: string): void {
  const compiled = new CompiledConstraint(readLanguage(constraint, defaultGrammarLimits), trie);
  const matcher = compiled.matcher();
  const mask = new Uint32Array(compiled.maskWords);
  for (const byte of new TextEncoder().encode(text)) {
    matcher.mask(mask);
    const token = trie.bytesOf.findIndex((bytes) => bytes?.length === 1 && bytes[0] === byte);
    assert.ok(((mask[token >>> 5] >>> (token & 31)) & 1) === 1, `${text}: byte ${byte}`);
    assert.ok(matcher.accept(token));
  }
  assert.ok(matcher.mayEnd, text);
}

test("compiles a choice of ten thousand strings", () => {
  const texts = Array.from({ length: 10_000 }, (_, index) => {
    const number = (index * 7_919) % 1_000_003;
    return `${number.toString(36)}-é-${number}-item`.padEnd(22, "x");
  });
  const constraints: readonly (readonly [Constraint, (text: string) => string])[] = [
    [choice(...texts), String],
    [jsonSchema({ enum: texts }), (text) => JSON.stringify(text)],
    [
      jsonSchema({ properties: { a: { enum: texts } }, required: ["a"], type: "object" }),
      (text) => JSON.stringify({ a: text }),
    ],
  ];
  for (const [constraint, written] of constraints) {
    const language = readLanguage(constraint, defaultGrammarLimits);
    for (const text of texts.filter((_, index) => index % 997 === 0)) {
      assert.ok(accepts(language, written(text)), text);
      assert.ok(!accepts(language, written(`${text}x`)) && !accepts(language, written(text.slice(0, -1))));
    }
    write(constraint, written(texts[1_234]));
  }
});

const indexes = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const byName = (entries: readonly (readonly [string, Json])[]): Json => Object.fromEntries(entries);

/** Returns a schema of objects in which the value of one property, the tag, determines the other properties. */
function conditions(
  caseCount: number,
  changed: { readonly asks: boolean; readonly isClosed: boolean },
): Json {
  return {
    type: "object",
    properties: byName([
      ["kind", { type: "string" }],
      ...indexes(caseCount).map((index) => [`p${index}`, { type: "integer" }] as const),
    ]),
    required: ["kind"],
    ...(changed.isClosed ? { additionalProperties: false } : {}),
    allOf: indexes(caseCount).map((index) =>
      conditional(
        { properties: { kind: { const: `k${index}` } }, ...(changed.asks ? { required: ["kind"] } : {}) },
        { required: [`p${index}`] },
      ),
    ),
  };
}

function branches(keyword: string, branchCount: number, isClosed: boolean): Json {
  const branch = (index: number): Json => ({
    type: "object",
    properties: { kind: { const: `k${index}` }, [`p${index}`]: { type: "integer" }, more: { type: "null" } },
    required: ["kind", `p${index}`],
    ...(isClosed ? { additionalProperties: false } : {}),
  });
  return { [keyword]: indexes(branchCount).map(branch) };
}

const tagged: readonly (readonly [string, Json])[] = [true, false].flatMap((isClosed) => [
  [
    `30 conditions that require the tag, closed: ${isClosed}`,
    conditions(30, { asks: true, isClosed }),
  ] as const,
  [`30 conditions, closed: ${isClosed}`, conditions(30, { asks: false, isClosed })] as const,
  [`oneOf of 200 branches, closed: ${isClosed}`, branches("oneOf", 200, isClosed)] as const,
  [`anyOf of 1,200 branches, closed: ${isClosed}`, branches("anyOf", 1_200, isClosed)] as const,
]);

for (const [name, schema] of searchedOf(tagged, 2, "branches")) {
  test(`serves branches distinguished by a tag: ${name}`, () => {
    const language = readLanguage(jsonSchema(schema), defaultGrammarLimits);
    const judge = new Ajv2020({ strict: false }).compile(schema as object);
    const values: readonly Json[] = [
      ...[0, 7, 29].flatMap((index) => [
        { kind: `k${index}`, [`p${index}`]: 1 },
        { kind: `k${index}`, [`p${index}`]: "1" },
        { kind: `k${index}`, [`p${index + 1}`]: 1 },
        { kind: `k${index}`, [`p${index}`]: 1, more: null },
        { kind: `k${index}` },
      ]),
      { kind: "k29", p28: 1, p29: 2 },
      { kind: "other", p3: 1 },
      { p3: 1 },
    ];
    for (const value of values)
      assert.equal(accepts(language, language.textOf?.(value) ?? ""), judge(value), JSON.stringify(value));
    write(jsonSchema(schema), '{"kind":"k23","p23":5}');
  });
}

const pairs = (count: number): readonly (readonly [string, string])[] =>
  indexes(count).map((index) => [`a${index}`, `b${index}`]);

test("compiles twenty properties that require others, and twenty pairs of which one is required", () => {
  const wanting = { dependentRequired: byName(pairs(20).map(([one, other]) => [one, [other]])) };
  const either = { allOf: pairs(20).map((pair) => ({ anyOf: pair.map((one) => ({ required: [one] })) })) };
  const declared = {
    properties: byName(pairs(20).flatMap((pair) => pair.map((one) => [one, { type: "integer" }]))),
    additionalProperties: false,
  };
  const [first, last] = [pairs(20).map(([one]) => one), pairs(20).map(([, other]) => other)];
  const object = (...present: readonly string[]): Json => byName(present.map((one) => [one, 1]));
  const values: readonly Json[] = [
    object(),
    object("a3"),
    object("b3", "a3"),
    object("b7", "more"),
    object("a0", "b0", "a19"),
    object(...first),
    object(...last),
    object(...first.slice(1)),
    object(...first.slice(1), "b0"),
    object(...first, ...last),
  ];
  for (const schema of [wanting, either, { ...wanting, ...declared }, { ...either, ...declared }]) {
    const language = readLanguage(jsonSchema({ type: "object", ...schema }), defaultGrammarLimits);
    const judge = new Ajv2020({ strict: false }).compile({ type: "object", ...schema });
    for (const value of values)
      assert.equal(accepts(language, language.textOf?.(value) ?? ""), judge(value), JSON.stringify(value));
    write(jsonSchema({ type: "object", ...schema }), language.textOf?.(object(...first, ...last)) ?? "");
  }
});

test("texts generated under the masks satisfy the schema's dependencies and reach no dead end", () => {
  const draws = fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }));
  const vocabulary = vocabularyOf([
    '{"',
    '":',
    ',"',
    '"}',
    '"',
    "t",
    "a",
    "b",
    '"x"',
    '"y"',
    "1",
    "null",
    "}",
  ]);
  let finishedCount = 0;
  fc.assert(
    fc.property(unionSchemas, draws, (schema, numbers) => {
      const language = readOrRefuse(schema);
      if (language === null || language === "no values") return;
      const compiled = new CompiledConstraint(language, vocabulary);
      for (const _ of indexes(3)) {
        const walk = randomWalk(compiled, () => numbers.next().value, 60);
        if (!walk.isFinished) continue;
        finishedCount += 1;
        const text = new TextDecoder().decode(walk.text);
        assert.ok(isValid(schema, JSON.parse(text) as Json), JSON.stringify({ schema, text }));
      }
    }),
    searching(40),
  );
  assert.ok(finishedCount > searchCount(26), `${finishedCount} walks came to an end`);
});

test("accepts exactly the objects that satisfy the schema's dependencies", () => {
  let [servedCount, validCount] = [0, 0];
  fc.assert(
    fc.property(unionSchemas, fc.array(unionValues, { minLength: 20, maxLength: 20 }), (schema, samples) => {
      const language = readOrRefuse(schema);
      if (language === null) return;
      servedCount += 1;
      // Safe cast: the schema is an object of JSON.
      const judge = new Ajv2020({ strict: false }).compile(schema as object);
      for (const value of samples) {
        const expected = judge(value);
        const described = JSON.stringify({ schema, value });
        assert.equal(isValid(schema, value), expected, described);
        const accepted: boolean =
          language !== "no values" && accepts(language, language.textOf?.(value) ?? "");
        assert.equal(accepted, expected, described);
        validCount += expected ? 1 : 0;
      }
    }),
    searching(20),
  );
  assert.ok(
    servedCount > searchCount(13) && validCount > searchCount(40),
    `${servedCount} schemas, ${validCount} valid values`,
  );
});

/** Compiles a schema. Returns null if it is refused, or "no values" if no value satisfies it. */
function readOrRefuse(schema: Json): Language | "no values" | null {
  try {
    return readLanguage(jsonSchema(schema), defaultGrammarLimits);
  } catch (error) {
    assert.ok(error instanceof ConstraintRefusal, String(error));
    return error.kind === "unsatisfiable" ? "no values" : null;
  }
}

test("serializes a value in the order of a plan whose requirements it satisfies", () => {
  const schema: ExactJson = {
    allOf: [
      {
        oneOf: [
          { properties: { b: { type: "string" }, u: {} }, required: ["b", "t"], additionalProperties: false },
          { properties: { t: { const: "x" } } },
        ],
      },
      { not: { required: ["u", "t"] } },
    ],
  };
  const language = readLanguage(jsonSchema(schema), defaultGrammarLimits);
  // Plans that require the property `t` come first, and order the properties differently. The values below lack `t`.
  for (const value of [
    { b: "x", u: 1 },
    { u: 1, b: "x" },
  ])
    assert.ok(accepts(language, language.textOf?.(value) ?? ""), JSON.stringify(value));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { systemClock } from "../../../../base/domain/clock.ts";
import type { Json } from "../../../../base/domain/text/json.ts";
import { defaultGrammarLimits } from "../../regex/limits.ts";
import { checkConstraint } from "../check.ts";
import { jsonSchema } from "../testing/make-constraints.ts";
import { vocabularyOf } from "../testing/vocabularies.ts";
import { searching } from "../../../../base/domain/testing/search.ts";

/**
 * Compiles a schema within the default limits, and checks for each value that another validator gives the same result.
 */
function check(schema: object, values: fc.Arbitrary<Json>): void {
  const samples = fc.sample(values, searching(40));
  const options = { limits: defaultGrammarLimits, trie: vocabularyOf([]), clock: systemClock };
  const { refusal, instances } = checkConstraint(
    // Safe cast: each schema here is JSON.
    jsonSchema(schema as Json),
    samples.map((sample) => JSON.stringify(sample)),
    options,
  );
  assert.equal(refusal, null);
  const judge = new Ajv2020({ strict: false }).compile(schema);
  for (const [index, value] of samples.entries())
    assert.equal(instances[index].isAccepted, judge(value), JSON.stringify(value));
  const validCount = samples.filter((value) => judge(value)).length;
  assert.ok(validCount > 1, `${validCount} of ${samples.length} values are valid`);
  assert.ok(validCount < samples.length - 1, `${validCount} of ${samples.length} values are valid`);
}

const pattern = (text: string) => ({ pattern: text });

test("compiles combinations of patterns whose alternatives multiply", () => {
  const neither = (...texts: readonly string[]) => ({ allOf: texts.map((text) => ({ not: pattern(text) })) });
  check(
    {
      type: "string",
      maxLength: 60,
      allOf: [
        { anyOf: ["^p", "^q", "^r", "^s", "^t"].map(pattern) },
        { anyOf: [neither("^[pq]", "^[rs]"), ...["x$", "y$", "z$"].map(pattern)] },
        { anyOf: [neither("^[pqr]", "[xyz]$"), ...["8{21}", "5{22}", "6{23}"].map(pattern)] },
        {
          not: { anyOf: [{ not: pattern("[pP][25].*[zZ]") }, { allOf: [pattern("^p+5"), pattern("6.*z")] }] },
        },
      ],
    },
    fc
      .tuple(
        fc.constantFrom("p", "q", "pp", "t", ""),
        fc.constantFrom("2", "5", "6"),
        fc.nat(3),
        fc.constantFrom("z", "x", ""),
      )
      .map(([first, digit, more, last]) => `${first}2${digit.repeat(20 + more)}${last}`),
  );
});

test("compiles nested exclusive branches of objects", () => {
  const kind = (...kinds: readonly string[]) => ({ kind: { enum: kinds } });
  const counts = (...names: readonly string[]) => ({
    required: names,
    properties: Object.fromEntries(names.map((name) => [name, { type: "integer" }])),
  });
  const one = {
    required: ["kind", "count", "form"],
    properties: { ...kind("one"), count: { type: "integer", minimum: 0 }, form: pattern("^[abc]{2,3}$") },
  };
  const many = {
    required: ["kind", "count", "form"],
    properties: { ...kind("many"), count: { type: "integer", minimum: 0 }, form: pattern("^[ab]?[abc]{2}$") },
    oneOf: [counts("left", "right"), counts("all")],
  };
  const schema = {
    type: "object",
    oneOf: [
      {
        required: ["name", "kind", "owner"],
        properties: {
          name: { type: "string" },
          ...kind("one", "many", "none", "far"),
          owner: { minLength: 1 },
        },
        oneOf: [one, many, { required: ["kind"], properties: kind("none") }],
      },
      {
        required: ["name", "kind"],
        properties: { name: { type: "string" }, ...kind("one", "many", "none", "far") },
      },
    ],
  };
  const integers = fc.integer({ min: -1, max: 3 });
  check(
    schema,
    fc.record(
      {
        name: fc.constantFrom("n", ""),
        kind: fc.constantFrom("one", "many", "none", "far"),
        owner: fc.constantFrom("o", ""),
        count: integers,
        form: fc.constantFrom("ab", "cab", "abc", "d"),
        left: integers,
        right: integers,
        all: integers,
      },
      { requiredKeys: ["name", "kind"] },
    ),
  );
});

test("compiles bounded combinations of multiples whose alternatives multiply", () => {
  const multiples = (...divisors: readonly number[]) =>
    divisors.map((divisor): object => ({ multipleOf: divisor }));
  const neither = (...divisors: readonly number[]) => ({
    allOf: multiples(...divisors).map((multiple) => ({ not: multiple })),
  });
  check(
    {
      type: "number",
      allOf: [
        { anyOf: multiples(33, 12, 4, 16, 77) },
        { anyOf: [neither(6, 35), ...multiples(25, 42, 51)] },
        { anyOf: [neither(9, 5), ...multiples(101, 102, 103)] },
        { exclusiveMinimum: -310 },
        { maximum: 0.5 },
      ],
    },
    fc.oneof(
      fc.constantFrom(-204, 0, 308, -308.5),
      fc.integer({ min: -80, max: 1 }).map((value) => value * 4),
    ),
  );
});

test("compiles many required patterns combined with a fixed length", () => {
  const wanted = ["ab1", "b12", "bc1", "c12", "ca1", "a12", "[\\d]{2}", "1.*2", "ac", "[aA][12].*[zZ]"];
  const length = { minLength: 40, maxLength: 40 };
  check(
    { type: "string", ...length, allOf: ["^\\w*$", ...wanted].map(pattern) },
    fc
      .shuffledSubarray(["ab12", "bc12", "ca12", "ac", "z"], { minLength: 4 })
      .map((parts) => parts.join("").padEnd(40, "z")),
  );
});

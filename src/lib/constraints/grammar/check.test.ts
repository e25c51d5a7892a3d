import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import type { Constraint } from "../../../base/domain/constraint.ts";
import { exactJsonText } from "../../../base/domain/text/exact-json.ts";
import type { Json } from "../../../base/domain/text/json.ts";
import { defaultGrammarLimits } from "../regex/limits.ts";
import type { GrammarLimits } from "../regex/limits.ts";
import { checkConstraint } from "./check.ts";
import { readLanguage } from "./language.ts";
import { choice, grammar, jsonSchema, regex } from "./testing/make-constraints.ts";
import { byteLevelTokens, vocabularyOf } from "./testing/vocabularies.ts";
import { buildTokenTrie, type TokenTrie } from "./trie/token-trie.ts";

const large = buildTokenTrie({ bytes: byteLevelTokens(16_384) });
const small = vocabularyOf([]);

function check(
  constraint: Constraint,
  instances: readonly Json[] = [],
  { trie = small, ...limits }: Partial<GrammarLimits> & { readonly trie?: TokenTrie } = {},
) {
  return checkConstraint(
    constraint,
    instances.map((instance) => exactJsonText(instance)),
    {
      limits: { ...defaultGrammarLimits, ...limits },
      trie,
      clock: new FakeClock(),
    },
  );
}

const accepted = (constraint: Constraint, ...instances: readonly Json[]): readonly boolean[] =>
  check(constraint, instances).instances.map(({ isAccepted }) => isAccepted);

test("reports the refused part of a schema, its location and the reason", () => {
  const { refusal, instances } = check(jsonSchema({ items: { $recursiveRef: "#" } }), [[]]);
  assert.deepEqual(refusal, {
    kind: "not-exact",
    subject: "$recursiveRef",
    place: "#/items/$recursiveRef",
    message: "The keyword $recursiveRef at #/items/$recursiveRef is not supported.",
  });
  assert.deepEqual(instances, []);
  const others: readonly Json[] = [
    { type: "text" },
    { enum: [] },
    { pattern: "^(?=.*a.{30})(?=.*b.{29}).*$" },
  ];
  const kinds = others.map((schema) => check(jsonSchema(schema), [], { compileSteps: 1000 }).refusal?.kind);
  assert.deepEqual(kinds, ["malformed", "unsatisfiable", "limit"]);
});

const words = "(?=.*alpha)(?=.*beta)(?=.*gamma)(?!.*delta).{0,1000}";

test("refuses a constraint that compiles but whose first mask exceeds the limit", () => {
  const shape = (pattern: string): Json => ({ pattern });
  const either = (...patterns: readonly string[]): Json => ({ anyOf: patterns.map(shape) });
  const constraints = [
    regex(words),
    // Similar to the MaskBench schema Handwritten---allany13.
    jsonSchema({
      type: "string",
      allOf: [
        either("^a", "^b", "^c", "^d", "^e"),
        either("x$", "y$", "z$"),
        either("1111111111111111111", "222222222222222222", "3333333333333333333"),
        shape("[aA][12].*[zZ]"),
      ],
      minLength: 10,
      maxLength: 20,
    }),
  ];
  for (const constraint of constraints) {
    assert.ok(readLanguage(constraint, defaultGrammarLimits));
    const { refusal, instances } = check(constraint, ["alpha"], { maskSteps: 1_000, trie: large });
    assert.deepEqual(refusal, {
      kind: "limit",
      subject: "maskSteps",
      place: "the first token",
      message: "The constraint exceeds the limit maskSteps of 1000 at the first token. Make it simpler.",
    });
    assert.deepEqual(instances, []);
  }
});

test("reports the position in an instance at which the next mask exceeds the limit", () => {
  const schema = jsonSchema({
    type: "object",
    properties: { kind: { const: "fqdn" }, value: { pattern: `^${words}$` } },
    required: ["kind", "value"],
    additionalProperties: false,
  });
  const values: readonly Json[] = [{ kind: "ipv4" }, { kind: "fqdn", value: "alpha beta gamma" }];
  const place = 'byte 24, after {"kind":"fqdn","value":"';
  const { refusal, instances } = check(schema, values, { maskSteps: 1_000, trie: large });
  assert.deepEqual(instances, [
    { isAccepted: false, limit: null, place: "" },
    { isAccepted: false, limit: "maskSteps", place },
  ]);
  assert.deepEqual([refusal?.subject, refusal?.place], ["maskSteps", `test 1, ${place}`]);
  assert.equal(check(schema, values.slice(0, 1), { maskSteps: 1_000, trie: large }).refusal, null);
  assert.deepEqual(
    check(schema, values, { trie: large }).instances.map(({ isAccepted }) => isAccepted),
    [false, true],
  );
});

test("rejects a value that no sequence of tokens can spell", () => {
  const letters = buildTokenTrie({ bytes: Array.from("abc", (letter) => new TextEncoder().encode(letter)) });
  const means = { limits: defaultGrammarLimits, trie: letters, clock: new FakeClock() };
  const { instances } = checkConstraint(regex("[a-z]+"), ['"abba"', '"abd"'], means);
  assert.deepEqual(
    instances.map(({ isAccepted }) => isAccepted),
    [true, false],
  );
});

test("accepts instances with properties in any order and numbers in any notation", () => {
  const schema = jsonSchema({
    type: "object",
    properties: { first: { type: "number", maximum: 0.5 }, second: { items: { type: "string" } } },
    required: ["first"],
    additionalProperties: { $ref: "#" },
  });
  const inner = { second: ["é\n"], first: 1e-7 };
  assert.deepEqual(
    accepted(schema, { other: inner, second: [], first: -2e21 }, { other: { second: [] }, first: 0 }),
    [true, false],
  );
});

test("accepts texts as instances of constraints other than JSON", () => {
  assert.deepEqual(accepted(regex("[ab]+"), "abba", "abc", "", ["a"]), [true, false, false, false]);
  assert.deepEqual(accepted(choice("yes", ""), "yes", "no", ""), [true, false, true]);
  assert.deepEqual(accepted(grammar('root ::= "(" root ")" | ""'), "(())", "(()"), [true, false]);
});

test("names the limit that an instance exceeded", () => {
  const nested = Array.from({ length: 50_000 }).reduce<Json>((inner) => [inner], []);
  const long = "ab".repeat(400);
  const spaced = jsonSchema({ pattern: "^(\\S+\\s+){0,90}\\S+$", maxLength: 900 });
  const { instances } = check(spaced, [long, nested, "a b"], { states: 2000 });
  assert.deepEqual(
    instances.map(({ isAccepted, limit }) => [isAccepted, limit]),
    [
      [false, "states"],
      [false, "nesting"],
      [true, null],
    ],
  );
});

test("checks each nested value once per alternative, not once per path through the alternatives", () => {
  const value = Array.from({ length: 100 }).reduce<Json>((inner) => ({ a: inner }), { z: 1 });
  const schema = jsonSchema({
    anyOf: ["b", "c"].map((name): Json => ({
      type: "object",
      properties: { a: { $ref: "#" }, [name]: true },
      additionalProperties: false,
    })),
  });
  assert.deepEqual(check(schema, [value]).instances, [{ isAccepted: false, limit: null, place: "" }]);
});

test("checks instances of a schema with many optional properties", () => {
  const names = Array.from({ length: 500 }, (_, index) => `property${index}`);
  const properties = Object.fromEntries(names.map((name): [string, Json] => [name, { type: "integer" }]));
  const [, second = "", third = ""] = names;
  const last = names.at(-1) ?? "";
  assert.deepEqual(
    check(jsonSchema({ type: "object", properties }), [
      { [last]: 1, [second]: 2 },
      { [third]: 3, another: [] },
      { [last]: "1" },
    ]).instances,
    [true, true, false].map((isAccepted) => ({ isAccepted, limit: null, place: "" })),
  );
});

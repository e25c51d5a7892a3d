import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../domain/fake-clock.ts";
import type { Constraint } from "../domain/constraint.ts";
import { exactJsonText } from "../domain/text/exact-json.ts";
import type { Json } from "../domain/trajectory.ts";
import { defaultGrammarLimits } from "../regex/limits.ts";
import type { GrammarLimits } from "../regex/limits.ts";
import { checkConstraint } from "./check.ts";
import { choice, grammar, jsonSchema, regex } from "./testing/constraints.ts";

function check(constraint: Constraint, instances: readonly Json[] = [], limits: Partial<GrammarLimits> = {}) {
  return checkConstraint(
    constraint,
    instances.map((instance) => exactJsonText(instance)),
    {
      limits: { ...defaultGrammarLimits, ...limits },
      clock: new FakeClock(),
    },
  );
}

const accepted = (constraint: Constraint, ...instances: readonly Json[]): readonly boolean[] =>
  check(constraint, instances).instances.map(({ isAccepted }) => isAccepted);

test("says what of a schema is refused, where, and why", () => {
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

test("takes values in whatever order their properties come, and numbers however they were written", () => {
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

test("takes texts for what is not JSON", () => {
  assert.deepEqual(accepted(regex("[ab]+"), "abba", "abc", "", ["a"]), [true, false, false, false]);
  assert.deepEqual(accepted(choice("yes", ""), "yes", "no", ""), [true, false, true]);
  assert.deepEqual(accepted(grammar('root ::= "(" root ")" | ""'), "(())", "(()"), [true, false]);
});

test("names the limit at which an instance was given up", () => {
  const nested = Array.from({ length: 50_000 }).reduce<Json>((inner) => [inner], []);
  const long = "ab".repeat(400);
  const words = jsonSchema({ pattern: "^(\\S+\\s+){0,90}\\S+$", maxLength: 900 });
  const { instances } = check(words, [long, nested, "a b"], { states: 2000 });
  assert.deepEqual(instances, [
    { isAccepted: false, limit: "states" },
    { isAccepted: false, limit: "nesting" },
    { isAccepted: true, limit: null },
  ]);
});

test("looks at a value that many alternatives share once for each of them", () => {
  const value = Array.from({ length: 100 }).reduce<Json>((inner) => ({ a: inner }), { z: 1 });
  const schema = jsonSchema({
    anyOf: ["b", "c"].map((name): Json => ({
      type: "object",
      properties: { a: { $ref: "#" }, [name]: true },
      additionalProperties: false,
    })),
  });
  assert.deepEqual(check(schema, [value]).instances, [{ isAccepted: false, limit: null }]);
});

test("follows an object of many optional properties", () => {
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
    [true, true, false].map((isAccepted) => ({ isAccepted, limit: null })),
  );
});

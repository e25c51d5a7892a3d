import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { Type, type TSchema } from "typebox";
import { check } from "./check.ts";
import { newFindings, refuseFaults, report } from "./findings.ts";
import { searching } from "../domain/testing/search.ts";

type FaultText = readonly [location: string, type: string, message: string];

function checks(
  schema: TSchema,
  value: unknown,
  expected: readonly FaultText[],
  ignored: readonly string[] = [],
): void {
  const findings = newFindings("body");
  const isFine = check(schema, value, findings);
  assert.deepEqual(
    findings.faults.map(({ location, type, message }) => [location.join(","), type, message]),
    expected,
    JSON.stringify(value),
  );
  assert.equal(isFine, expected.length === 0);
  assert.deepEqual([...findings.ignored.values()], ignored);
}

const field = (schema: TSchema): TSchema => Type.Object({ x: schema });

test("reports a value of another type as clients of pydantic know it", () => {
  const table: readonly (readonly [TSchema, unknown, string, string])[] = [
    [
      Type.Number(),
      "abc",
      "float_parsing",
      'Input should be a valid number, unable to parse string as a number, got "abc"',
    ],
    [
      Type.Number(),
      "0.5",
      "float_type",
      'Input should be a valid number, got "0.5"; send it without quotation marks',
    ],
    [Type.Number(), [], "float_type", "Input should be a valid number, got a list"],
    [Type.Number(), true, "float_type", "Input should be a valid number, got true"],
    [Type.Number(), Infinity, "finite_number", "Input should be a finite number"],
    [
      Type.Integer(),
      1.5,
      "int_from_float",
      "Input should be a valid integer, got a number with a fractional part: 1.5",
    ],
    [
      Type.Integer(),
      "x",
      "int_parsing",
      'Input should be a valid integer, unable to parse string as an integer, got "x"',
    ],
    [
      Type.Integer(),
      "2",
      "int_type",
      'Input should be a valid integer, got "2"; send it without quotation marks',
    ],
    [Type.Integer(), null, "int_type", "Input should be a valid integer, got null"],
    [
      Type.Integer(),
      1e30,
      "int_parsing_size",
      "Unable to parse input string as an integer, exceeded maximum size, got 1e+30",
    ],
    [Type.Boolean(), null, "bool_type", "Input should be a valid boolean, got null"],
    [Type.Boolean(), { toString: 1 }, "bool_type", "Input should be a valid boolean, got an object"],
    [Type.Boolean(), 1, "bool_type", "Input should be a valid boolean, got 1"],
    [
      Type.Boolean(),
      "maybe",
      "bool_parsing",
      'Input should be a valid boolean, unable to interpret input, got "maybe"',
    ],
    [Type.Boolean(), 3, "bool_parsing", "Input should be a valid boolean, unable to interpret input, got 3"],
    [Type.String(), 5, "string_type", "Input should be a valid string, got 5"],
    [Type.Array(Type.String()), "a", "list_type", 'Input should be a valid list, got "a"'],
    [Type.Object({}), 5, "dict_type", "Input should be a valid dictionary, got 5"],
    [
      Type.Object({}, { title: "Thing" }),
      [],
      "model_type",
      "Input should be a valid dictionary or instance of Thing, got a list",
    ],
    [
      Type.Enum(["low", "medium", "high"]),
      "x",
      "literal_error",
      "Input should be 'low', 'medium' or 'high', got \"x\"",
    ],
    [Type.Enum(["none"]), {}, "literal_error", "Input should be 'none', got an object"],
    [
      Type.Integer({ minimum: -1 }),
      -2,
      "greater_than_equal",
      "Input should be greater than or equal to -1, got -2",
    ],
    [Type.Number({ maximum: 2 }), 2.5, "less_than_equal", "Input should be less than or equal to 2, got 2.5"],
    [Type.Number({ exclusiveMinimum: 0 }), 0, "greater_than", "Input should be greater than 0, got 0"],
    [Type.String({ minLength: 1 }), "", "string_too_short", "String should have at least 1 character"],
    [Type.String({ maxLength: 2 }), "abc", "string_too_long", "String should have at most 2 characters"],
    [Type.String({ format: "uuid" }), "nope", "uuid_parsing", 'Input should be a valid UUID, got "nope"'],
    [
      Type.String({ format: "date-time" }),
      "today",
      "datetime_parsing",
      'Input should be a valid datetime in ISO 8601, got "today"',
    ],
  ];
  for (const [schema, value, type, message] of table)
    checks(field(schema), { x: value }, [["body,x", type, message]]);
});

test("accepts 1.0 as an integer and counts code points as characters", () => {
  checks(field(Type.Integer()), JSON.parse('{"x": 1.0}'), []);
  checks(field(Type.String({ maxLength: 2 })), { x: "😀😀" }, []);
  checks(field(Type.String({ format: "date-time" })), { x: "2026-01-02T03:04:05.678Z" }, []);
});

test("accepts null only where the field says so", () => {
  checks(field(Type.Union([Type.Integer(), Type.Null()])), { x: null }, []);
  checks(field(Type.Union([Type.Integer(), Type.Null()])), { x: [] }, [
    ["body,x", "int_type", "Input should be a valid integer, got a list"],
  ]);
});

test("reports one fault per branch of a union, or those of the branch that the value resembles", () => {
  const stop = field(
    Type.Union([
      Type.String({ title: "str" }),
      Type.Array(Type.String(), { title: "list[str]" }),
      Type.Null(),
    ]),
  );
  checks(stop, { x: 5 }, [
    ["body,x,str", "string_type", "Input should be a valid string, got 5"],
    ["body,x,list[str]", "list_type", "Input should be a valid list, got 5"],
  ]);
  checks(stop, { x: ["a", 5] }, [["body,x,1", "string_type", "Input should be a valid string, got 5"]]);
});

test("names every fault, with list indices as texts", () => {
  const schema = Type.Object({ a: Type.Array(Type.Object({ b: Type.Integer() })), c: Type.String() });
  checks(
    schema,
    { a: [{ b: 1 }, { b: "x" }, {}], d: 1 },
    [
      ["body,c", "missing", "Field required"],
      [
        "body,a,1,b",
        "int_parsing",
        'Input should be a valid integer, unable to parse string as an integer, got "x"',
      ],
      ["body,a,2,b", "missing", "Field required"],
    ],
    ["d"],
  );
});

test("reports an absent body as one missing field", () => {
  checks(Type.Object({}), undefined, [["body", "missing", "Field required"]]);
});

test("lists unknown fields once for all items of a list, unless the object keeps them", () => {
  const schema = Type.Object({ a: Type.Array(Type.Object({})) });
  checks(schema, { a: [{ z: 1 }, { z: 2 }] }, [], ["a.0.z"]);
  checks(Type.Object({}, { additionalProperties: true }), { z: 1 }, []);
});

test("finds numbers that JSON cannot write in unconstrained values", () => {
  checks(Type.Object({ x: Type.Unknown() }), { x: [{ deep: -Infinity }] }, [
    ["body,x,0,deep", "finite_number", "Input should be a finite number"],
  ]);
});

test("treats names of JavaScript's own as ordinary unknown fields", () => {
  checks(Type.Object({}), JSON.parse('{"__proto__": 1, "constructor": 2}'), [], ["__proto__", "constructor"]);
});

test("summarizes the first ten faults and counts the rest", () => {
  const findings = newFindings("body");
  for (let index = 0; index < 12; index++) report(findings, "missing", "Field required", `f${index}`);
  assert.throws(() => refuseFaults(findings), {
    message: /^f0: Field required; .*f9: Field required; and 2 more$/,
  });
});

test("lists a hundred faults and counts the rest, up to a limit", () => {
  const many = (count: number): unknown => Array.from({ length: count }, () => "x");
  const refused = (count: number): { readonly faults: readonly { readonly message: string }[] } => {
    const findings = newFindings("body");
    check(Type.Array(Type.Integer()), many(count), findings);
    try {
      refuseFaults(findings);
    } catch (error) {
      return error as ReturnType<typeof refused>;
    }
    throw new Error("not refused");
  };
  assert.equal(refused(100).faults.length, 100);
  assert.equal(refused(150).faults.length, 101);
  assert.equal(refused(150).faults[100]?.message, "50 more faults are not listed.");
  assert.equal(refused(20_000).faults[100]?.message, "at least 9900 more faults are not listed.");
});

test("throws for no value", () => {
  const schema = Type.Object({
    a: Type.Optional(Type.Union([Type.String({ title: "str" }), Type.Array(Type.Integer()), Type.Null()])),
    b: Type.Object({ c: Type.Enum(["x"]) }, { additionalProperties: Type.Number() }),
  });
  fc.assert(
    fc.property(fc.record({ a: fc.anything(), b: fc.anything() }), (value) => {
      check(schema, value, newFindings("body"));
    }),
    searching(100),
  );
});

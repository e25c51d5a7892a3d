// Small random schemas and values. They use few names, so that values often match schemas.
import * as fc from "fast-check";
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";

const scalars = fc.constantFrom<Json>(
  null,
  true,
  false,
  0,
  1,
  2,
  5,
  10,
  -3,
  1.5,
  0.25,
  "",
  "a",
  "ab",
  "b1",
  'é\n"',
);
const names = fc.constantFrom("a", "b", "c", "x1", "x2");

export const values: fc.Arbitrary<Json> = fc.letrec<{ readonly value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    scalars,
    fc.array(tie("value"), { maxLength: 3 }),
    fc.array(scalars, { maxLength: 4 }),
    fc.dictionary(names, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

const patterns = fc.constantFrom("^a", "b", "\\d$", "^[ab]{2}$", "^(?!a)", "^$|1");
const counts = fc.constantFrom(0, 1, 2, 3);

/** Schemas of items for arrays with `uniqueItems`. */
const distinctItems: fc.Arbitrary<Json> = fc.oneof(
  fc.array(scalars, { minLength: 1, maxLength: 4 }).map((items) => ({ enum: items })),
  fc
    .constantFrom<Json>("string", "integer", "number", "boolean", ["string", "integer", "null"])
    .map((type) => ({ type })),
  fc.constantFrom<Json>(
    { type: "string", pattern: "^a" },
    { type: "string", maxLength: 1, pattern: "^[ab]*$" },
    { type: "integer", minimum: 0, maximum: 2 },
    { type: "number", minimum: 0, maximum: 1.5 },
    { type: "integer", multipleOf: 5 },
  ),
);

/** One keyword of a schema, or several keywords that belong together. */
function keywords(schema: fc.Arbitrary<Json>): fc.Arbitrary<JsonObject> {
  const one = (keyword: string, value: fc.Arbitrary<Json>): fc.Arbitrary<JsonObject> =>
    value.map((inner) => ({ [keyword]: inner }));
  const schemas = fc.array(schema, { minLength: 1, maxLength: 3 });
  const byName = (inner: fc.Arbitrary<Json>) =>
    fc.dictionary(names, inner, { minKeys: 1, maxKeys: 3, noNullPrototype: true });
  const nameList = fc.uniqueArray(names, { maxLength: 2 });
  const types = fc.constantFrom("null", "boolean", "integer", "number", "string", "array", "object");
  return fc.oneof(
    one("type", fc.oneof(types, fc.uniqueArray(types, { minLength: 1, maxLength: 3 }))),
    one("enum", fc.array(values, { minLength: 1, maxLength: 4 })),
    one("const", values),
    one("properties", byName(schema)),
    one("properties", byName(schema)),
    one("required", nameList),
    one("additionalProperties", schema),
    one(
      "patternProperties",
      fc.dictionary(fc.constantFrom("^x", "1$", "a"), schema, {
        maxKeys: 2,
        noNullPrototype: true,
      }),
    ),
    one(
      "propertyNames",
      patterns.map((pattern) => ({ pattern })),
    ),
    one("minProperties", counts),
    one("maxProperties", counts),
    one("items", schema),
    one("prefixItems", schemas),
    one("minItems", counts),
    one("maxItems", counts),
    one("contains", schema),
    fc
      .tuple(schema, counts, counts)
      .map(([contains, minContains, maxContains]) => ({ contains, minContains, maxContains })),
    fc.tuple(distinctItems, counts).map(([items, minItems]) => ({ uniqueItems: true, items, minItems })),
    one("minLength", counts),
    one("maxLength", counts),
    one("pattern", patterns),
    one("minimum", fc.constantFrom(-2, 0, 1, 1.5, 10)),
    one("maximum", fc.constantFrom(-2, 0, 1, 1.5, 10)),
    one("exclusiveMinimum", fc.constantFrom(-2, 0, 1.5, 2)),
    one("exclusiveMaximum", fc.constantFrom(-2, 0, 1.5, 10)),
    one("multipleOf", fc.constantFrom(0.25, 0.5, 2, 5)),
    one("allOf", schemas),
    one("anyOf", schemas),
    one("oneOf", schemas),
    one("not", schema),
    fc
      .tuple(schema, schema, schema)
      .map((branches) =>
        Object.fromEntries(["if", "then", "else"].map((keyword, index) => [keyword, branches[index]])),
      ),
    one("dependentRequired", byName(nameList)),
    one("dependentSchemas", byName(schema)),
  );
}

export const schemas: fc.Arbitrary<Json> = fc.letrec<{ readonly schema: Json }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>(
      true,
      false,
      {},
      { type: "integer" },
      { type: "string" },
      { type: ["number", "null"] },
    ),
    fc
      .array(keywords(tie("schema")), { minLength: 1, maxLength: 3 })
      .map((parts) => Object.assign({}, ...parts) as JsonObject),
  ),
})).schema;

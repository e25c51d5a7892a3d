// Random schemas of objects with dependent properties: branches selected by a tag property, conditions on a tag
// property, and properties that require or exclude each other. The random values are often nearly valid.
import * as fc from "fast-check";
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";

const names = ["t", "u", "a", "b", "c"];
const name = fc.constantFrom(...names);
const tag = fc.constantFrom<Json>("x", "y", "z", 1, 2, true, null);
const property = fc.constantFrom<Json>("x", "y", "z", "w", 1, 2, 3, true, null, []);

export const unionValues: fc.Arbitrary<Json> = fc.oneof(
  { weight: 9, arbitrary: fc.dictionary(name, property, { maxKeys: 5, noNullPrototype: true }) },
  { weight: 1, arbitrary: fc.constantFrom<Json>(null, "x", 1, []) },
);

const required = fc.uniqueArray(name, { minLength: 1, maxLength: 3 });
const presence: fc.Arbitrary<JsonObject> = fc.oneof(
  required.map((list) => ({ required: list })),
  required.map((list) => ({ not: { required: list } })),
  fc.tuple(required, name).map(([list, one]) => ({ required: list, properties: { [one]: false } })),
);

/** Schema of a property, usually a constant value of the tag. */
const described: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: tag.map((value) => ({ const: value })) },
  {
    weight: 2,
    arbitrary: fc.uniqueArray(tag, { minLength: 1, maxLength: 3 }).map((list) => ({ enum: list })),
  },
  { weight: 1, arbitrary: tag.map((value) => ({ not: { const: value } })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Json>({ type: "string" }, { $ref: "#/$defs/one" }, { minimum: 2 }, false),
  },
);

const branch: fc.Arbitrary<JsonObject> = fc
  .record({
    tagged: fc.tuple(fc.constantFrom("t", "t", "t", "u"), described),
    more: fc.option(fc.tuple(name, described)),
    required: fc.uniqueArray(fc.constantFrom("t", "t", "t", "a", "b"), { maxLength: 2 }),
    isClosed: fc.boolean(),
  })
  .map(({ tagged: [first, schema], more, required: list, isClosed }) => ({
    properties: { ...(more === null ? {} : { [more[0]]: more[1] }), [first]: schema },
    required: list,
    ...(isClosed ? { additionalProperties: false } : {}),
  }));

const branches = fc.array(fc.oneof({ weight: 3, arbitrary: branch }, { weight: 1, arbitrary: presence }), {
  minLength: 2,
  maxLength: 4,
});
const condition = fc
  .tuple(fc.constantFrom("t", "t", "u"), described, fc.boolean())
  .map(([on, schema, asks]) => ({ properties: { [on]: schema }, ...(asks ? { required: [on] } : {}) }));
const keyword: fc.Arbitrary<JsonObject> = fc.oneof(
  branches.map((list) => ({ oneOf: list })),
  branches.map((list) => ({ anyOf: list })),
  fc.array(presence, { minLength: 2, maxLength: 3 }).map((list) => ({ anyOf: list })),
  fc.array(presence, { minLength: 2, maxLength: 3 }).map((list) => ({ oneOf: list })),
  fc
    .tuple(condition, fc.oneof(presence, branch), fc.option(presence))
    .map((schemas) => conditional(...schemas)),
  fc
    .dictionary(name, required, { minKeys: 1, maxKeys: 3, noNullPrototype: true })
    .map((wanted) => ({ dependentRequired: wanted })),
  presence.map((one) => ({ not: one })),
  presence,
  fc.constantFrom<JsonObject>({ maxProperties: 2 }, { minProperties: 1 }, { type: "object" }),
);

/**
 * Returns the keywords if, then and else. A value that matches `on` must match `wanted`, and any other value must match
 * `other`. Omits a keyword whose schema is null.
 */
export function conditional(on: Json, wanted: Json, other: Json = null): JsonObject {
  const keywords: readonly (readonly [string, Json])[] = [
    ["if", on],
    ["then", wanted],
    ["else", other],
  ];
  return Object.fromEntries(keywords.filter(([, schema]) => schema !== null));
}

/** Several random keywords combined by one `allOf`. */
export const unionSchemas: fc.Arbitrary<Json> = fc
  .tuple(
    fc.array(keyword, { minLength: 1, maxLength: 4 }),
    fc.option(branch, { freq: 1 }),
    fc.constantFrom<Json>("x", 1),
  )
  .map(([parts, around, one]) => ({ ...around, allOf: parts, $defs: { one: { const: one } } }));

// JSON Schemas of three families: those that zod and pydantic generate, and random ones. Each family is unlimited; the
// same seed gives the same schemas.
import * as fc from "fast-check";
import * as z from "zod";
import type { Json, JsonObject } from "../../src/base/domain/text/json.ts";
import { seededRandom, type Random } from "../../src/base/domain/random.ts";
import { schemas } from "../../src/lib/constraints/grammar/testing/random-schemas.ts";

/** Functions that return `count` schemas of a family for a seed. */
export const families: Readonly<Record<string, (seed: number, count: number) => readonly Json[]>> = {
  zod: (seed, count) => made(seed, count, (random) => z.toJSONSchema(zodObject(random, 2)) as JsonObject),
  pydantic: (seed, count) => made(seed, count, pydanticModel),
  // Excludes schemas that are booleans, because requests accept only objects.
  random: (seed, count) =>
    fc
      .sample(schemas, { seed, numRuns: count })
      .map((schema) => (typeof schema === "boolean" ? { allOf: [schema] } : schema)),
};

function made(seed: number, count: number, make: (random: Random) => Json): readonly Json[] {
  return Array.from({ length: count }, (_, index) => make(seededRandom("schema", seed, index)));
}

const names = ["name", "age", "email", "tags", "address", "createdAt", "is_active", "score", "parent", "äöü"];

function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[random.index(choices.length)];
}

/** Returns some of the names in random order. */
function someNames(random: Random): readonly string[] {
  const left = [...names];
  return Array.from({ length: 1 + random.index(5) }, () => left.splice(random.index(left.length), 1)[0]);
}

function zodObject(random: Random, depth: number): z.ZodType {
  const shape = Object.fromEntries(
    someNames(random).map((name) => {
      const value = zodValue(random, depth);
      const changed = pick(random, [value, value, value.optional(), value.nullable(), value.nullish()]);
      return [name, random.index(6) === 0 ? value.describe("what it says") : changed];
    }),
  );
  return pick(random, [z.object(shape), z.object(shape), z.strictObject(shape), z.looseObject(shape)]);
}

function zodValue(random: Random, depth: number): z.ZodType {
  const simple: readonly (() => z.ZodType)[] = [
    () => z.string(),
    () => z.string().min(2).max(12),
    () => z.string().regex(/^[A-Z]{2}-\d{3,}$/),
    () => z.email(),
    () => z.uuid(),
    () => z.iso.datetime(),
    () => z.iso.date(),
    () => z.ipv4(),
    () => z.int().min(0).max(120),
    () => z.number().positive(),
    () => z.number().multipleOf(0.5),
    () => z.boolean(),
    () => z.null(),
    () => z.literal(["a", 1, true]),
    () => z.enum(["red", "green", "blue"]),
  ];
  if (depth === 0) return pick(random, simple)();
  const inner = (): z.ZodType => zodValue(random, depth - 1);
  const nested: readonly (() => z.ZodType)[] = [
    () => zodObject(random, depth - 1),
    () => z.array(inner()).max(4),
    () => z.array(inner()).min(1),
    () => z.tuple([inner(), inner()]),
    () => z.union([inner(), inner()]),
    () => z.record(z.string(), inner()),
    () =>
      z.discriminatedUnion("kind", [
        z.object({ kind: z.literal("one"), value: inner() }),
        z.object({ kind: z.literal("two"), other: inner() }),
      ]),
  ];
  return pick(random, random.index(2) === 0 ? nested : simple)();
}

/**
 * Returns a schema in the form of pydantic's: with definitions of classes, titles everywhere, null as an alternative
 * type, and defaults.
 */
function pydanticModel(random: Random): Json {
  const classes = ["Item", "Person", "Node"].slice(0, 1 + random.index(3));
  const definitions = classes.map((title) => [title, pydanticClass(random, title, classes)] as const);
  return { $defs: Object.fromEntries(definitions), ...pydanticClass(random, "Answer", classes) };
}

function pydanticClass(random: Random, title: string, classes: readonly string[]): JsonObject {
  const fields = someNames(random).map((name) => {
    const title = name.replaceAll("_", " ");
    const { schema, hasDefault } = pydanticField(random, classes);
    return { name, schema: { ...schema, title }, hasDefault };
  });
  return {
    properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
    required: fields.filter(({ hasDefault }) => !hasDefault).map(({ name }) => name),
    title,
    type: "object",
    ...(random.index(3) === 0 ? { additionalProperties: false } : {}),
  };
}

function pydanticField(
  random: Random,
  classes: readonly string[],
): { readonly schema: JsonObject; readonly hasDefault: boolean } {
  const plain: readonly JsonObject[] = [
    { type: "string" },
    { type: "string", maxLength: 20, minLength: 1 },
    { type: "string", pattern: "^\\d{5}$" },
    { type: "string", format: "date" },
    { type: "string", format: "uuid" },
    { type: "integer", exclusiveMinimum: 0 },
    { type: "integer", minimum: -3, maximum: 99 },
    { type: "number" },
    { type: "boolean" },
    { enum: ["low", "high"], type: "string" },
    { const: "fixed", type: "string" },
    { type: "array", items: { type: "integer" }, maxItems: 5 },
    { type: "array", items: { type: "string", enum: ["a", "b", "c"] }, uniqueItems: true },
    { type: "array", maxItems: 2, minItems: 2, prefixItems: [{ type: "integer" }, { type: "string" }] },
    { type: "object", additionalProperties: { type: "integer" } },
  ];
  const schema = pick(random, plain);
  const reference: JsonObject = { $ref: `#/$defs/${pick(random, classes)}` };
  switch (random.index(5)) {
    case 0:
      return { schema: { anyOf: [schema, { type: "null" }], default: null }, hasDefault: true };
    case 1:
      return { schema: { anyOf: [reference, { type: "null" }], default: null }, hasDefault: true };
    case 2:
      return { schema: { type: "array", items: reference, default: [] }, hasDefault: true };
    default:
      return { schema, hasDefault: random.index(4) === 0 };
  }
}

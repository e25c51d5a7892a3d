// Generates values from a schema only. They conform to the schema, and combine fields in ways that no list of examples
// contains.
import type { Random } from "../../src/base/domain/random.ts";
import { oneOf } from "./odd-values.ts";
import type { SchemaNode } from "../../src/base/validation/schema.ts";

/**
 * Maximum number of optional fields per object. Each of them may cause a refusal, so with many fields most requests
 * would be refused.
 */
const optionalCountMax = 4;

/** Returns a value that conforms to the schema. It may break rules that the schema cannot express. */
export function valueOf(schema: SchemaNode, random: Random): unknown {
  const { anyOf, enum: values, type } = schema;
  if (anyOf !== undefined) return valueOf(oneOf(random, anyOf), random);
  if (values !== undefined) return oneOf(random, values);
  switch (type) {
    case "string":
      return textOf(schema, random);
    case "integer":
      return Math.round(numberOf(schema, random));
    case "number":
      return numberOf(schema, random);
    case "boolean":
      return random.uniform() < 0.5;
    case "null":
      return null;
    case "array":
      return listOf(schema, random);
    case "object":
      return fieldsOf(schema, random);
    default:
      return oneOf(random, [null, true, 0, "x", [], {}]);
  }
}

/** Returns an object's required fields and some of its optional ones. */
export function fieldsOf(schema: SchemaNode, random: Random): Readonly<Record<string, unknown>> {
  const { properties = {}, required = [], additionalProperties } = schema;
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  const chosen = Array.from({ length: random.index(optionalCountMax + 1) }, () => oneOf(random, optional));
  const fields = Object.entries(properties)
    .filter(([name]) => required.includes(name) || chosen.includes(name))
    .map(([name, inner]) => [name, valueOf(inner, random)]);
  const other =
    typeof additionalProperties === "object" && random.uniform() < 0.7 ? additionalProperties : null;
  if (other !== null) fields.push([oneOf(random, ["5", "700", "name"]), valueOf(other, random)]);
  return Object.fromEntries(fields) as Readonly<Record<string, unknown>>;
}

function textOf({ minLength = 0, maxLength = 12 }: SchemaNode, random: Random): string {
  const length = Math.min(maxLength, minLength + random.index(12));
  const characters = Array.from('ab {}[]"\\<|>é\u2028💡1.,:');
  return Array.from({ length }, () => oneOf(random, characters)).join("");
}

/** Returns one of the bounds, a number with a special meaning, or a number between the bounds. */
function numberOf({ minimum, exclusiveMinimum = -3, maximum = 30 }: SchemaNode, random: Random): number {
  const least = minimum ?? exclusiveMinimum + 0.5;
  const most = Math.max(least, maximum);
  const between = least + Math.min(most - least, 30) * random.uniform();
  return oneOf(random, [least, Math.min(most, Math.max(least, 1)), between, between, most]);
}

function listOf({ items = {}, minItems = 0, maxItems = 5 }: SchemaNode, random: Random): readonly unknown[] {
  const count = Math.min(maxItems, minItems + random.index(4));
  return Array.from({ length: count }, () => valueOf(items, random));
}

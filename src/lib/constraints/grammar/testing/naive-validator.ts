// Naive reference for the schema reader: validates a value keyword by keyword, following the text of the JSON Schema
// specification. It supports references by JSON pointer within the document, but no formats or identifiers.
import type { Json, JsonObject } from "../../../../base/domain/text/json.ts";

export function isValid(root: Json, value: Json): boolean {
  const check = (schema: Json, at: Json): boolean => {
    if (typeof schema === "boolean") return schema;
    if (!isObject(schema)) throw new Error(`no schema: ${JSON.stringify(schema)}`);
    return Object.entries(schema).every(([keyword, wanted]) => holds(keyword, wanted, { schema, value: at }));
  };

  const holds = (
    keyword: string,
    wanted: Json,
    { schema, value: at }: { readonly schema: JsonObject; readonly value: Json },
  ): boolean => {
    const all = (schemas: Json) => listOf(schemas).map((one) => check(one, at));
    const number = (test: (one: number) => boolean) => typeof at !== "number" || test(at);
    const text = (test: (one: string) => boolean) => typeof at !== "string" || test(at);
    const items = (test: (list: readonly Json[]) => boolean) => !Array.isArray(at) || test(at);
    const members = (test: (object: JsonObject) => boolean) => !isObject(at) || test(at);
    const count = typeof wanted === "number" ? wanted : 0;
    switch (keyword) {
      case "$ref":
        return check(target(root, textOf(wanted)), at);
      case "type":
        return (
          [wanted].flat().some((type) => isOfType(textOf(type), at)) ||
          (schema.nullable === true && at === null)
        );
      case "enum":
        return listOf(wanted).some((one) => isEqual(one, at));
      case "const":
        return isEqual(wanted, at);
      case "allOf":
        return all(wanted).every(Boolean);
      case "anyOf":
        return all(wanted).some(Boolean);
      case "oneOf":
        return all(wanted).filter(Boolean).length === 1;
      case "not":
        return !check(wanted, at);
      case "if":
        return check(wanted, at) ? check(schema.then ?? true, at) : check(schema.else ?? true, at);
      case "minimum":
        return number((one) => one >= count);
      case "maximum":
        return number((one) => one <= count);
      case "exclusiveMinimum":
        return number((one) => one > count);
      case "exclusiveMaximum":
        return number((one) => one < count);
      case "multipleOf":
        return number((one) => Math.abs(one / count - Math.round(one / count)) < 1e-9);
      case "minLength":
        return text((one) => Array.from(one).length >= count);
      case "maxLength":
        return text((one) => Array.from(one).length <= count);
      case "pattern":
        return text((one) => new RegExp(textOf(wanted), "u").test(one));
      case "minItems":
        return items((list) => list.length >= count);
      case "maxItems":
        return items((list) => list.length <= count);
      case "uniqueItems":
        return items(
          (list) =>
            !wanted || list.every((one, index) => !list.slice(0, index).some((other) => isEqual(one, other))),
        );
      case "prefixItems":
        return items((list) =>
          listOf(wanted).every((one, index) => index >= list.length || check(one, list[index])),
        );
      case "items":
        return items((list) =>
          list.slice(listOf(schema.prefixItems ?? []).length).every((item) => check(wanted, item)),
        );
      case "contains":
        return items((list) => {
          const found = list.filter((item) => check(wanted, item)).length;
          return (
            found >= Number(schema.minContains ?? 1) &&
            found <= Number(schema.maxContains ?? Number.POSITIVE_INFINITY)
          );
        });
      case "required":
        return members((object) => listOf(wanted).every((name) => Object.hasOwn(object, textOf(name))));
      case "minProperties":
        return members((object) => Object.keys(object).length >= count);
      case "maxProperties":
        return members((object) => Object.keys(object).length <= count);
      case "propertyNames":
        return members((object) => Object.keys(object).every((name) => check(wanted, name)));
      case "properties":
        return members((object) =>
          entriesOf(wanted).every(([name, one]) => !Object.hasOwn(object, name) || check(one, object[name])),
        );
      case "patternProperties":
        return members((object) =>
          Object.entries(object).every(([name, one]) =>
            matching(wanted, name).every((inner) => check(inner, one)),
          ),
        );
      case "additionalProperties":
        return members((object) =>
          Object.entries(object).every(([name, one]) => {
            const isDescribed =
              Object.hasOwn(Object(schema.properties ?? {}), name) ||
              matching(schema.patternProperties ?? {}, name).length > 0;
            return isDescribed || check(wanted, one);
          }),
        );
      case "dependentRequired":
        return members((object) =>
          entriesOf(wanted).every(
            ([name, names]) =>
              !Object.hasOwn(object, name) ||
              listOf(names).every((other) => Object.hasOwn(object, textOf(other))),
          ),
        );
      case "dependentSchemas":
        return members((object) =>
          entriesOf(wanted).every(([name, one]) => !Object.hasOwn(object, name) || check(one, object)),
        );
      default:
        return true;
    }
  };
  return check(root, value);
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const textOf = (value: Json): string => (typeof value === "string" ? value : "");
const listOf = (value: Json): readonly Json[] => (Array.isArray(value) ? value : []);
const entriesOf = (value: Json): readonly (readonly [string, Json])[] =>
  isObject(value) ? Object.entries(value) : [];

function matching(patterns: Json, name: string): readonly Json[] {
  return entriesOf(patterns).flatMap(([pattern, schema]) =>
    new RegExp(pattern, "u").test(name) ? [schema] : [],
  );
}

function target(root: Json, reference: string): Json {
  return reference
    .split("/")
    .slice(1)
    .reduce<Json>((value, key) => (isObject(value) ? value[key] : false), root);
}

function isOfType(type: string, value: Json): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  return type === "object" ? isObject(value) : typeof value === type;
}

function isEqual(one: Json, other: Json): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item: Json, index) => isEqual(item, other[index]));
  if (!isObject(one) || !isObject(other)) return one === other;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isEqual(one[name], other[name]))
  );
}

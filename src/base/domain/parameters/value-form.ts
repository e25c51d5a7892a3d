// Decides how a parameter's value is written between tags: a text as it is, everything else as JSON. The decision
// depends on the parameter's schema. The parser and the constraint use the same rule, so that the parser understands
// every value that the constraint allows.
import { isJsonObject, type Json } from "../text/json.ts";

/**
 * Form in which a value is written. `text`: the text itself. `text-or-null`: the text itself, or `null`. `json`: JSON.
 * `any`: JSON if it can be parsed as JSON, otherwise a text.
 */
export type ValueForm = "text" | "text-or-null" | "json" | "any";

/**
 * Returns the form in which values of a parameter are written.
 *
 * @param root schema of all arguments, to which references refer; null if the parameter is unknown
 */
export function valueFormOf(schema: Json | undefined, root: Json): ValueForm {
  const values = valuesOf(schema ?? true, root, 0);
  if (values === "any") return "any";
  if (!values.has("text")) return values.has("bounded-text") ? "any" : "json";
  if (values.size === 1) return "text";
  return values.size === 2 && values.has("null") ? "text-or-null" : "any";
}

/**
 * Kind of a value. A bounded text is one that the schema constrains by more than a list of values, such as by a
 * pattern. It is written as JSON.
 */
type ValueKind = "text" | "bounded-text" | "null" | "other";

const referencesMax = 16;
const textBounds = ["pattern", "minLength", "maxLength", "format", "not", "if", "contentEncoding"];

function valuesOf(schema: Json, root: Json, depth: number): ReadonlySet<ValueKind> | "any" {
  if (!isJsonObject(schema) || depth > referencesMax) return "any";
  const { type, enum: values, anyOf, oneOf, allOf } = schema;
  if ("const" in schema) return new Set([kindOfValue(schema["const"])]);
  if (Array.isArray(values)) return new Set(values.map(kindOfValue));
  if (typeof schema["$ref"] === "string") return valuesOf(referred(schema["$ref"], root), root, depth + 1);
  const members = anyOf ?? oneOf;
  if (Array.isArray(members)) return united(members.map((member) => valuesOf(member, root, depth + 1)));
  if (Array.isArray(allOf) && allOf.length === 1) return valuesOf(allOf[0], root, depth + 1);
  const types = Array.isArray(type) ? type : [type];
  if (Array.isArray(allOf) || types.some((one) => typeof one !== "string")) return "any";
  const isBounded = textBounds.some((keyword) => keyword in schema);
  return new Set(types.map((one) => kindOfType(one, isBounded)));
}

function kindOfValue(value: Json): ValueKind {
  if (value === null) return "null";
  return typeof value === "string" ? "text" : "other";
}

function kindOfType(type: Json, isBounded: boolean): ValueKind {
  if (type === "null") return "null";
  if (type !== "string") return "other";
  return isBounded ? "bounded-text" : "text";
}

function united(all: readonly (ReadonlySet<ValueKind> | "any")[]): ReadonlySet<ValueKind> | "any" {
  const kinds = new Set<ValueKind>();
  for (const one of all) {
    if (one === "any") return "any";
    for (const kind of one) kinds.add(kind);
  }
  // If the schema allows both plain and bounded texts, the written value does not show which of the two it is, so the
  // result is `any`.
  return kinds.has("text") && kinds.has("bounded-text") ? "any" : kinds;
}

/**
 * Returns the part of the schema to which a reference refers. If there is none, returns true, which allows everything.
 */
export function referred(reference: string, root: Json): Json {
  if (!reference.startsWith("#")) return true;
  let value: Json = root;
  for (const part of reference.slice(1).split("/").slice(1)) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return true;
    value = value[name];
  }
  return value;
}

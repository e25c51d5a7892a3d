// Converts a parameter value that a model wrote between tags into JSON, according to its schema.
import { isDeepStrictEqual } from "node:util";
import { referred, type ValueForm } from "../../../../base/domain/parameters/value-form.ts";
import { isJson, isJsonObject, type Json, type JsonObject } from "../../../../base/domain/text/json.ts";
import { pythonToJson } from "./python-values.ts";

/**
 * Returns a written value as JSON. A valid JSON value stays as written, unless the schema accepts only a string.
 * Everything else becomes a JSON string.
 *
 * @param property the schema of the value
 * @param root the schema of all arguments, to which references refer
 */
export function valueToJson(
  written: string,
  form: ValueForm,
  { property = true, root = true }: { readonly property?: Json; readonly root?: Json } = {},
): string {
  const text = written.trim();
  if (form === "text-or-null") return isNull(text) ? "null" : JSON.stringify(written);
  const json = isJson(text) ? text : pythonValue(text);
  const texts = [written, text].map((one) => JSON.stringify(one));
  if (json === null) return texts[0];
  if (takesValue(property, root, JSON.parse(json) as Json)) return json;
  return (
    [text, written].filter((one) => takesValue(property, root, one)).map((one) => JSON.stringify(one))[0] ??
    json
  );
}

/**
 * Converts Python values to JSON, because templates show Python values and models imitate them. Does not convert a
 * quoted text.
 */
function pythonValue(text: string): string | null {
  return /^[[({TFN]/.test(text) ? pythonToJson(text) : null;
}

const referencesMax = 16;

/** False if the types or listed values in the schema exclude the value. */
function takesValue(schema: Json, root: Json, value: Json, depth = 0): boolean {
  if (!isJsonObject(schema) || depth > referencesMax) return schema !== false;
  const { type, enum: values, anyOf, oneOf, allOf, $ref: reference } = schema;
  if (value === null && schema["nullable"] === true) return true;
  if ("const" in schema && !isDeepStrictEqual(schema["const"], value)) return false;
  if (Array.isArray(values) && !values.some((one) => isDeepStrictEqual(one, value))) return false;
  const types = Array.isArray(type) ? type : [type];
  if (types.every((one) => typeof one === "string") && !types.some((one) => isOfType(one, value)))
    return false;
  if (typeof reference === "string" && !takesValue(referred(reference, root), root, value, depth + 1))
    return false;
  const some = (members: Json | undefined): boolean =>
    !Array.isArray(members) || members.some((one) => takesValue(one, root, value, depth + 1));
  const isTaken = !Array.isArray(allOf) || allOf.every((one) => takesValue(one, root, value, depth + 1));
  return isTaken && some(anyOf) && some(oneOf);
}

function isOfType(type: Json, value: Json): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isJsonObject(value);
  return typeof value === type;
}

function isNull(text: string): boolean {
  return text === "null" || text === "None";
}

/** Returns the schema of one parameter from the schema of all arguments; undefined if it is not listed. */
export function findProperty(schema: JsonObject | null, name: string): Json | undefined {
  const properties = schema?.["properties"];
  return isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

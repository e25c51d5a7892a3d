// The value of one parameter between tags, as a model wrote it, turned into JSON by what its schema says of it.
import { isObject, type ValueForm } from "../../../domain/parameters/value-form.ts";
import type { Json, JsonObject } from "../../../domain/trajectory.ts";

/** The JSON text of a value that is not a plain text, as it was written; a text of it where it is no JSON. */
export function jsonOfValue(written: string, form: ValueForm): string {
  const text = written.trim();
  if (form === "text-or-null") return isNull(text) ? "null" : JSON.stringify(written);
  if (isJson(text)) return text;
  // As templates show values of Python, and models then write them.
  const literal = new Map([
    ["True", "true"],
    ["False", "false"],
    ["None", "null"],
  ]).get(text);
  return literal ?? JSON.stringify(written);
}

function isNull(text: string): boolean {
  return text === "null" || text === "None";
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What is said of a parameter in the schema of all arguments. */
export function propertyOf(schema: JsonObject | null, name: string): Json | undefined {
  const properties = schema?.["properties"];
  return isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

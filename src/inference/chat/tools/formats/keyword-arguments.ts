// Constrains keyword arguments, as in Python calls, to a tool's schema. The arguments are in the order of the schema's
// properties, with JSON values except for Python's literals. The reader accepts both JSON and Python values.
import { textArgument } from "../../../../base/domain/chat.ts";
import { valueFormOf } from "../../../../base/domain/parameters/value-form.ts";
import { withDefinitions } from "../../../../base/domain/parameters/parameter-tags.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../base/domain/text/json.ts";
import type { CallableTool } from "../call-format.ts";
import { jsonStringContent } from "./text-content.ts";

/**
 * Returns a structural tag's format for the keyword arguments of a tool.
 *
 * @param tool a tool with a schema that `parametersRefusal` accepts
 */
export function keywordsTag({ schema, textRule }: CallableTool): Json {
  if (textRule !== undefined) return sequence([constant(`${textArgument}=`), jsonStringContent(textRule)]);
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const listed: readonly Json[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const required = new Set(listed.filter((name): name is string => typeof name === "string"));
  const names = [...new Set([...Object.keys(properties), ...required])];
  if (names.length === 0) return anyKeywords(schema);
  const keywords = names.map((name) => ({
    isRequired: required.has(name),
    format: sequence([
      constant(`${name}=`),
      valueTag(Object.hasOwn(properties, name) ? properties[name] : true, schema),
    ]),
  }));
  return firstOf(keywords);
}

interface Keyword {
  readonly isRequired: boolean;
  readonly format: Json;
}

/**
 * Returns a format for keywords in their order. A model may omit optional keywords, so the first one that it writes may
 * be any up to the first required one.
 */
function firstOf(keywords: readonly Keyword[]): Json {
  const lastFirst = keywords.findIndex(({ isRequired }) => isRequired);
  const firsts = keywords.slice(0, lastFirst < 0 ? keywords.length : lastFirst + 1);
  const branches = firsts.map(({ format }, index) =>
    sequence([format, ...keywords.slice(index + 1).map(afterComma)]),
  );
  return { type: "or", elements: lastFirst < 0 ? [...branches, constant("")] : branches };
}

function afterComma({ isRequired, format }: Keyword): Json {
  const content = sequence([constant(", "), format]);
  return isRequired ? content : { type: "optional", content };
}

function valueTag(value: Json, root: JsonObject): Json {
  const json = { type: "json_schema", json_schema: withDefinitions(value, root) };
  if (!isJsonObject(value)) return json;
  const { type, enum: values } = value;
  if (values === undefined && type === "boolean") return oneOf(["True", "False"]);
  if (values === undefined && type === "null") return constant("None");
  return valueFormOf(value, root) === "text-or-null"
    ? { type: "or", elements: [constant("None"), json] }
    : json;
}

/**
 * Returns a format for keywords with arbitrary names. If the schema lists properties, or forbids others, the format
 * allows no keywords.
 */
function anyKeywords(schema: JsonObject): Json {
  if (schema["additionalProperties"] === false || "properties" in schema) return constant("");
  const keyword = sequence([
    { type: "regex", pattern: "[A-Za-z_][A-Za-z_0-9]*=" },
    { type: "or", elements: [oneOf(["True", "False", "None"]), { type: "json_schema", json_schema: true }] },
  ]);
  const more = { type: "star", content: sequence([constant(", "), keyword]) };
  return { type: "optional", content: sequence([keyword, more]) };
}

function oneOf(values: readonly string[]): Json {
  return { type: "or", elements: values.map(constant) };
}

function constant(value: string): Json {
  return { type: "const_string", value };
}

function sequence(elements: readonly Json[]): Json {
  return elements.length === 1 ? elements[0] : { type: "sequence", elements };
}

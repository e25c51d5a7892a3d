// What holds parameters between tags to a schema: each as its own tag, in the schema's order. A text stands as it is, and
// whatever more than a type or a list of values is asked of it is written as JSON, which the reader of calls takes as well.
import type { Json, JsonObject } from "../../../domain/trajectory.ts";
import { textArgument } from "../../../domain/chat.ts";
import type { CallableTool } from "../call-format.ts";
import { wordsOf } from "./call-layout.ts";
import { isObject, referred, valueFormOf } from "./parameter-values.ts";
import { parameterMarks } from "./read-parameters.ts";
import { plainTextContent } from "./text-content.ts";

/** Keywords of an object that say no more than its properties do, or nothing. */
const readKeywords: readonly string[] = [
  "type",
  "properties",
  "required",
  "additionalProperties",
  "$defs",
  "definitions",
  "$schema",
  "$id",
  "$comment",
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "readOnly",
  "writeOnly",
  "strict",
];

/** Why arguments as parameters cannot be held to the schema; null where they can. */
export function parametersRefusal(schema: JsonObject): { keyword: string; message: string } | null {
  const isOpenMap = isObject(schema["additionalProperties"]) && !("properties" in schema);
  const keyword = isOpenMap
    ? "additionalProperties"
    : Object.keys(schema).find((name) => !readKeywords.includes(name));
  if (keyword === undefined) return null;
  const message = `${keyword} speaks of all arguments together, and this model's calls write each by itself; leave it out.`;
  return { keyword, message };
}

/** @param layout of one parameter, with its slots */
export function parametersTag(layout: string, { schema, textRule }: CallableTool): Json {
  if (textRule !== undefined)
    return wholeParameter(layout, { name: textArgument, isText: true, content: plainTextContent(textRule) });
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const listed: readonly Json[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const required = listed.filter((name): name is string => typeof name === "string");
  const names = [...new Set([...Object.keys(properties), ...required])];
  if (names.length === 0) {
    const isClosed = schema["additionalProperties"] === false || "properties" in schema;
    return isClosed ? text("") : { type: "star", content: anyParameter(layout) };
  }
  const elements = names.map((name) => {
    const value = Object.hasOwn(properties, name) ? properties[name] : true;
    const tag = parameterTag(layout, { name, value, root: schema });
    return required.includes(name) ? tag : { type: "optional", content: tag };
  });
  return { type: "sequence", elements };
}

interface Parameter {
  readonly name: string;
  readonly value: Json;
  readonly root: JsonObject;
}

function parameterTag(layout: string, { name, value, root }: Parameter): Json {
  const { behindKind, close } = parameterMarks(layout);
  const form = valueFormOf(value, root);
  const free = freeText(close);
  const textOnly = (schema: Json): Json => plainText(schema, root, free);
  const json = { type: "json_schema", json_schema: withDefinitions(value, root) };
  const asText = (content: Json): Json => wholeParameter(layout, { name, isText: true, content });
  const asJson = (content: Json): Json => wholeParameter(layout, { name, isText: false, content });
  if (form === "text") return asText(textOnly(value));
  // Where the layout says of a text that it is one, all else is JSON.
  if (form === "text-or-null" && behindKind === null)
    return asText({ type: "or", elements: [text("null"), textOnly(value)] });
  if (form === "text-or-null")
    return { type: "or", elements: [asText(textOnly(value)), asJson(text("null"))] };
  return asJson(json);
}

function wholeParameter(
  layout: string,
  { name, isText, content }: { readonly name: string; readonly isText: boolean; readonly content: Json },
): Json {
  const { open, middle, behindKind, close } = parameterMarks(layout);
  const kind = behindKind === null ? "" : String(isText) + behindKind;
  return { type: "tag", begin: open + name + middle + kind, content, end: close };
}

/** The texts of a schema whose values are texts, or null besides: those it lists, or any. */
function plainText(schema: Json, root: Json, free: Json): Json {
  if (!isObject(schema)) return free;
  if (isText(schema["const"])) return text(schema["const"]);
  if (Array.isArray(schema["enum"])) return anyOf(schema["enum"].filter(isText).map(text), free);
  if (typeof schema["$ref"] === "string") return plainText(referred(schema["$ref"], root), root, free);
  const members = schema["anyOf"] ?? schema["oneOf"] ?? schema["allOf"];
  if (!Array.isArray(members)) return free;
  const texts = members.filter((member) => valueFormOf(member, root) !== "json");
  return anyOf(
    texts.map((member) => plainText(member, root, free)),
    free,
  );
}

function isText(value: Json | undefined): value is string {
  return typeof value === "string";
}

function anyOf(elements: readonly Json[], otherwise: Json): Json {
  if (elements.length === 0) return otherwise;
  return elements.length === 1 ? elements[0] : { type: "or", elements };
}

function text(value: string): Json {
  return { type: "const_string", value };
}

/** Any text that does not hold what ends it. */
function freeText(close: string): Json {
  return { type: "any_text", excludes: wordsOf(close).slice(0, 1) };
}

/** A parameter of any name, and any value. */
function anyParameter(layout: string): Json {
  const { open, middle, behindKind, close } = parameterMarks(layout);
  const [word] = wordsOf(middle);
  const kind: readonly Json[] = behindKind === null ? [] : [text("true"), text(behindKind)];
  const name = { type: "regex", pattern: `[^\\s${escapedInClass(word.charAt(0))}]+` };
  const elements: readonly Json[] = [name, text(middle), ...kind, freeText(close)];
  return { type: "tag", begin: open, content: { type: "sequence", elements }, end: close };
}

function escapedInClass(character: string): string {
  return /[\\\]^-]/.test(character) ? `\\${character}` : character;
}

/** A part of a schema with the definitions that it may refer to. */
function withDefinitions(value: Json, root: JsonObject): Json {
  if (!isObject(value)) return value;
  const { $defs, definitions } = root;
  return {
    ...value,
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
}

// What holds parameters between tags to a schema, as formats of a structural tag: each parameter is a tag of its own, in the
// schema's order. A text stands as it is, and whatever more than a type or a list of values is asked of it is written as
// JSON, which the reader of calls takes as well.
import { isJsonObject, type Json, type JsonObject } from "../text/json.ts";
import { referred, valueFormOf } from "./value-form.ts";

/** How one parameter is written. */
export interface ParameterMarks {
  /** Before its name. */
  readonly open: string;
  /** Between its name and its value, or whether that is a text. */
  readonly middle: string;
  /** Behind whether the value is a text, which is `true` or `false`; null where that is not said. */
  readonly behindKind: string | null;
  /** Behind its value. */
  readonly close: string;
  /** A pattern for what may stand before parameters, behind the last, and around values that are not just any text. */
  readonly blanks?: string;
}

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
  const isOpenMap = isJsonObject(schema["additionalProperties"]) && !("properties" in schema);
  const keyword = isOpenMap
    ? "additionalProperties"
    : Object.keys(schema).find((name) => !readKeywords.includes(name));
  if (keyword === undefined) return null;
  const message = `${keyword} speaks of all arguments together, and this model's calls write each by itself; leave it out.`;
  return { keyword, message };
}

/** @param schema of all parameters together, which `parametersRefusal` refuses nothing of */
export function parametersTag(marks: ParameterMarks, schema: JsonObject): Json {
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const listed: readonly Json[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const required = listed.filter((name): name is string => typeof name === "string");
  const names = [...new Set([...Object.keys(properties), ...required])];
  if (names.length === 0) {
    const isClosed = schema["additionalProperties"] === false || "properties" in schema;
    const any = isClosed ? text("") : { type: "star", content: spaced(marks, anyParameter(marks), "before") };
    return spaced(marks, any, "behind");
  }
  const elements = names.map((name) => {
    const value = Object.hasOwn(properties, name) ? properties[name] : true;
    const tag = spaced(marks, parameterTag(marks, { name, value, root: schema }), "before");
    return required.includes(name) ? tag : { type: "optional", content: tag };
  });
  return spaced(marks, { type: "sequence", elements }, "behind");
}

/** A format with the blanks that may stand beside it. */
function spaced({ blanks }: ParameterMarks, format: Json, where: "before" | "behind" | "around"): Json {
  if (blanks === undefined) return format;
  const space = { type: "regex", pattern: blanks };
  const [before, behind] = [where === "behind" ? [] : [space], where === "before" ? [] : [space]];
  return { type: "sequence", elements: [...before, format, ...behind] };
}

interface Parameter {
  readonly name: string;
  readonly value: Json;
  readonly root: JsonObject;
}

function parameterTag(marks: ParameterMarks, { name, value, root }: Parameter): Json {
  const { behindKind, close } = marks;
  const form = valueFormOf(value, root);
  const free = freeText(close);
  const textOnly = (schema: Json): Json => {
    const texts = plainText(schema, root, free);
    return texts === free ? free : spaced(marks, texts, "around");
  };
  const json = { type: "json_schema", json_schema: withDefinitions(value, root) };
  const asText = (content: Json): Json => wholeParameter(marks, { name, isText: true, content });
  const asJson = (content: Json): Json =>
    wholeParameter(marks, { name, isText: false, content: spaced(marks, content, "around") });
  if (form === "text") return asText(textOnly(value));
  // Where the layout says of a text that it is one, all else is JSON.
  if (form === "text-or-null" && behindKind === null)
    return asText({ type: "or", elements: [spaced(marks, text("null"), "around"), textOnly(value)] });
  if (form === "text-or-null")
    return { type: "or", elements: [asText(textOnly(value)), asJson(text("null"))] };
  return asJson(json);
}

/** One parameter with what it holds. */
export function wholeParameter(
  { open, middle, behindKind, close }: ParameterMarks,
  { name, isText, content }: { readonly name: string; readonly isText: boolean; readonly content: Json },
): Json {
  const kind = behindKind === null ? "" : String(isText) + behindKind;
  return { type: "tag", begin: open + name + middle + kind, content, end: close };
}

/** The texts of a schema whose values are texts, or null besides: those it lists, or any. */
function plainText(schema: Json, root: Json, free: Json): Json {
  if (!isJsonObject(schema)) return free;
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
  return { type: "any_text", excludes: [firstWord(close)] };
}

/** A parameter of any name, and any value. */
function anyParameter({ open, middle, behindKind, close }: ParameterMarks): Json {
  const word = firstWord(middle);
  const kind: readonly Json[] = behindKind === null ? [] : [text("true"), text(behindKind)];
  const name = { type: "regex", pattern: `[^\\s${escapedInClass(word.charAt(0))}]+` };
  const elements: readonly Json[] = [name, text(middle), ...kind, freeText(close)];
  return { type: "tag", begin: open, content: { type: "sequence", elements }, end: close };
}

function firstWord(mark: string): string {
  return mark.trim().split(/\s+/)[0] ?? "";
}

function escapedInClass(character: string): string {
  return /[\\\]^-]/.test(character) ? `\\${character}` : character;
}

/** A part of a schema with the definitions that it may refer to. */
export function withDefinitions(value: Json, root: JsonObject): Json {
  if (!isJsonObject(value)) return value;
  const { $defs, definitions } = root;
  return {
    ...value,
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
}

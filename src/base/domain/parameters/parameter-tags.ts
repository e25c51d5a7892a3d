// Structural-tag formats for a tool's parameters, which are written between tags in the schema's order. The schema
// constrains each value. A text is written without quotation marks; if the schema restricts it by more than a list of
// values, such as by a pattern, it is written as JSON.
import { isJsonObject, type Json, type JsonObject } from "../text/json.ts";
import { referred, valueFormOf } from "./value-form.ts";

/** Marks around each parameter, as a model writes its tool calls. */
export interface ParameterMarks {
  /** Mark before the parameter's name. */
  readonly open: string;
  /** Mark after the parameter's name. The value follows, or the flag if the format has one (see `behindKind`). */
  readonly middle: string;
  /**
   * Mark after the flag that says whether the value is a text (`true` or `false`); null if the format has no such flag.
   */
  readonly behindKind: string | null;
  /** Mark after the parameter's value. */
  readonly close: string;
  /**
   * Pattern of the whitespace that may come before parameters, after the last one, and around values that are not free
   * text.
   */
  readonly blanks?: string;
}

/**
 * Keywords that the schema of an object may have, because they add no constraint beyond the constraints on its
 * properties.
 */
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

/** Returns the reason why a schema cannot constrain parameters; null if it can. */
export function parametersRefusal(schema: JsonObject): { keyword: string; message: string } | null {
  const isOpenMap = isJsonObject(schema["additionalProperties"]) && !("properties" in schema);
  const keyword = isOpenMap
    ? "additionalProperties"
    : Object.keys(schema).find((name) => !readKeywords.includes(name));
  if (keyword === undefined) return null;
  const message = `${keyword} speaks of all arguments together, and this model's calls write each by itself; leave it out.`;
  return { keyword, message };
}

/**
 * Returns the structural-tag format of a tool's parameters.
 *
 * @param schema schema of all parameters together; `parametersRefusal` must accept it
 */
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

/** Adds to a format the whitespace that the marks allow. */
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
  // Without a flag, `null` is written like a text. With a flag, `null` is marked as JSON.
  if (form === "text-or-null" && behindKind === null)
    return asText({ type: "or", elements: [spaced(marks, text("null"), "around"), textOnly(value)] });
  if (form === "text-or-null")
    return { type: "or", elements: [asText(textOnly(value)), asJson(text("null"))] };
  return asJson(json);
}

/**
 * Returns the format of one whole parameter.
 *
 * @param content format of the parameter's value
 */
export function wholeParameter(
  { open, middle, behindKind, close }: ParameterMarks,
  { name, isText, content }: { readonly name: string; readonly isText: boolean; readonly content: Json },
): Json {
  const kind = behindKind === null ? "" : String(isText) + behindKind;
  return { type: "tag", begin: open + name + middle + kind, content, end: close };
}

/**
 * Returns the structural-tag format for the texts that a parameter's schema allows: the values that the schema lists,
 * or any text. The schema allows only texts, or texts and null.
 */
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

/** Returns the format of any text that does not contain the closing mark. */
function freeText(close: string): Json {
  return { type: "any_text", excludes: [firstWord(close)] };
}

/** Returns the format of a parameter that may have any name and any value. */
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

/** Returns a part of a schema together with the schema's definitions, to which the part may refer. */
export function withDefinitions(value: Json, root: JsonObject): Json {
  if (!isJsonObject(value)) return value;
  const { $defs, definitions } = root;
  return {
    ...value,
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
  };
}

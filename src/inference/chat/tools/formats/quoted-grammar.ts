// Builds a grammar that constrains arguments to a schema in the quoted notation, which differs from JSON: names are
// unquoted, and texts are between special quote marks. Enforces types, properties, enums and items; refuses a schema
// with any other keyword.
import { isJsonObject, type Json, type JsonObject } from "../../../../base/domain/text/json.ts";
import { textArgument } from "../../../../base/domain/chat.ts";
import type { CallableTool } from "../call-format.ts";
import { referred } from "../../../../base/domain/parameters/value-form.ts";
import { toQuotedNotation } from "./quoted-notation.ts";
import { plainTextContent } from "./text-content.ts";

const annotations = [
  "title",
  "description",
  "default",
  "examples",
  "deprecated",
  "$defs",
  "definitions",
  "$schema",
  "$id",
  "$comment",
  "readOnly",
  "writeOnly",
  "strict",
];
/** Schema keywords for numbers, which can be enforced because numbers are written as in JSON. */
const numberKeywords = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/**
 * Returns null if arguments in this notation can be constrained to the schema; otherwise the reason why they cannot.
 */
export function quotedRefusal(schema: JsonObject): { keyword: string; message: string } | null {
  const keyword = unsupportedKeyword(schema, schema, 0);
  if (keyword === null) return null;
  const message = `${keyword} cannot be enforced in the notation in which this model writes arguments; leave it out.`;
  return { keyword, message };
}

const depthMax = 32;

function unsupportedKeyword(schema: Json, root: Json, depth: number): string | null {
  if (!isJsonObject(schema)) return schema === false ? "false" : null;
  if (depth > depthMax) return "$ref";
  if ("const" in schema || Array.isArray(schema["enum"])) return null;
  if (typeof schema["$ref"] === "string")
    return unsupportedKeyword(referred(schema["$ref"], root), root, depth + 1);
  const below: Json[] = [];
  if (isJsonObject(schema["additionalProperties"]) && !("properties" in schema))
    return "additionalProperties";
  for (const [keyword, value] of Object.entries(schema)) {
    if (annotations.includes(keyword) || keyword === "type") continue;
    if (keyword === "anyOf" || keyword === "oneOf") below.push(...(Array.isArray(value) ? value : []));
    else if (keyword === "properties") below.push(...(isJsonObject(value) ? Object.values(value) : []));
    else if (keyword === "items") below.push(value);
    else if (!["required", "additionalProperties", ...numberKeywords].includes(keyword)) return keyword;
  }
  for (const one of below) {
    const found = unsupportedKeyword(one, root, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

/** Returns a structural tag's format for the arguments of a tool. */
export function quotedTag({ schema, textRule }: CallableTool, quote: string): Json {
  if (textRule !== undefined) {
    const begin = `{${textArgument}:${quote}`;
    return { type: "tag", begin, content: plainTextContent(textRule), end: `${quote}}` };
  }
  return { type: "grammar", grammar: new QuotedGrammar(schema, quote).text() };
}

class QuotedGrammar {
  readonly #root: JsonObject;
  readonly #quote: string;
  readonly #rules: string[] = [];
  readonly #references = new Map<string, string>();
  #count = 0;

  constructor(root: JsonObject, quote: string) {
    this.#root = root;
    this.#quote = quote;
  }

  text(): string {
    const start = this.#value({ ...this.#root, type: "object" });
    const quote = literal(this.#quote);
    return [
      `start: ${start}`,
      ...this.#rules,
      `text: ${quote} TEXT ${quote}`,
      `TEXT: ~(/(?s:.*)/ ${quote} /(?s:.*)/)`,
      `any: text | any_list | any_object | SCALAR`,
      `any_list: "[" "]" | "[" any ("," any)* "]"`,
      `any_object: "{" "}" | "{" NAME ":" any ("," NAME ":" any)* "}"`,
      `NAME: /[A-Za-z_][A-Za-z0-9_]*/`,
      `SCALAR: /true|false|null|-?(0|[1-9][0-9]*)(\\.[0-9]+)?/`,
    ].join("\n");
  }

  /** Returns the grammar expression for values that match a schema. */
  #value(schema: Json): string {
    if (!isJsonObject(schema)) return "any";
    const { type, anyOf, oneOf, enum: values } = schema;
    const reference = schema["$ref"];
    if (typeof reference === "string") return this.#referred(reference);
    if ("const" in schema) return literal(toQuotedNotation(schema["const"], this.#quote));
    if (Array.isArray(values))
      return this.#rule(values.map((value) => literal(toQuotedNotation(value, this.#quote))).join(" | "));
    const members = anyOf ?? oneOf;
    if (Array.isArray(members)) return this.#rule(members.map((member) => this.#value(member)).join(" | "));
    if (Array.isArray(type))
      return this.#rule(type.map((one) => this.#value({ ...schema, type: one })).join(" | "));
    return this.#ofType(schema, type ?? null);
  }

  #ofType(schema: JsonObject, type: Json): string {
    switch (type) {
      case "string":
        return "text";
      case "object":
        return this.#object(schema);
      case "array": {
        const item = this.#value(schema["items"] ?? true);
        return this.#rule(`"[" "]" | "[" ${item} ("," ${item})* "]"`);
      }
      case "integer":
      case "number":
      case "boolean":
      case "null": {
        const kept = Object.entries(schema).filter(([keyword]) => numberKeywords.includes(keyword));
        return this.#rule(`%json ${JSON.stringify({ type, ...Object.fromEntries(kept) })}`);
      }
      default:
        return "properties" in schema ? this.#object(schema) : "any";
    }
  }

  /**
   * Creates two rules for each property. Both cover the property and those after it; in one rule the property is the
   * first that is written, in the other it follows another property.
   */
  #object(schema: JsonObject): string {
    const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
    const listed: readonly Json[] = Array.isArray(schema["required"]) ? schema["required"] : [];
    const required = listed.filter((name): name is string => typeof name === "string");
    const names = [...new Set([...Object.keys(properties), ...required])];
    if (names.length === 0) {
      const isClosed = schema["additionalProperties"] === false || "properties" in schema;
      return isClosed ? literal("{}") : "any_object";
    }
    let [first, further] = ['"}"', '"}"'];
    for (const name of names.toReversed()) {
      const value = this.#value(Object.hasOwn(properties, name) ? properties[name] : true);
      const member = `${literal(`${name}:`)} ${value} ${further}`;
      const isRequired = required.includes(name);
      const skipped = { first: isRequired ? "" : ` | ${first}`, further: isRequired ? "" : ` | ${further}` };
      first = this.#rule(member + skipped.first);
      further = this.#rule(`"," ${member}${skipped.further}`);
    }
    return this.#rule(`"{" ${first}`);
  }

  #referred(reference: string): string {
    const known = this.#references.get(reference);
    if (known !== undefined) return known;
    const name = this.#newName();
    this.#references.set(reference, name);
    this.#rules.push(`${name}: ${this.#value(referred(reference, this.#root))}`);
    return name;
  }

  #rule(body: string): string {
    const name = this.#newName();
    this.#rules.push(`${name}: ${body}`);
    return name;
  }

  #newName(): string {
    this.#count += 1;
    return `rule_${this.#count}`;
  }
}

function literal(text: string): string {
  return JSON.stringify(text);
}

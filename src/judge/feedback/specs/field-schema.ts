// Parses the JSON Schema of an annotation spec. Anyone may publish a spec, so parsing fetches and executes nothing. It
// checks the schema's structure, resolves references, and refuses keywords that Hone does not enforce.
import { unreachable } from "../../../base/domain/assert.ts";
import { cut, ServiceError } from "../../../base/domain/service-error.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../base/domain/text/json.ts";
import { quoted } from "../content-fault.ts";
import { isKeyword, keywordForms, unservedKeywords, type KeywordForm } from "./schema-keywords.ts";
import { TextPatterns } from "./text-pattern.ts";

/** A parsed schema, in which the values of all keywords are valid. */
export interface FieldSchema {
  readonly root: Json;
  readonly patterns: TextPatterns;
  /** The schema to which each reference points, by the reference's text. */
  readonly targets: ReadonlyMap<string, Json>;
}

/** A fault in a schema or a value, with the path of the faulty part. */
export interface SchemaFault {
  readonly path: readonly string[];
  readonly message: string;
}

/** Maximum length of a schema's JSON in characters. */
const schemaLengthMax = 65_536;
const faultsMax = 20;

/** Parses a schema. If it has faults, the returned `schema` is null. */
export function readFieldSchema(root: Json): {
  readonly schema: FieldSchema | null;
  readonly faults: readonly SchemaFault[];
} {
  const length = JSON.stringify(root).length;
  if (length > schemaLengthMax) {
    const message = `The schema has ${length} characters of JSON; the limit is ${schemaLengthMax}.`;
    return { schema: null, faults: [{ path: [], message }] };
  }
  const reading = new Reading(root);
  reading.readDocument();
  const { faults, patterns, targets } = reading;
  return faults.length > 0 ? { schema: null, faults } : { schema: { root, patterns, targets }, faults };
}

class Reading {
  readonly faults: SchemaFault[] = [];
  readonly patterns = new TextPatterns();
  readonly targets = new Map<string, Json>();
  readonly #root: Json;
  /** Schemas that were already checked. References can form cycles, so each schema is checked only once. */
  readonly #known = new Set<Json>();
  readonly #anchors = new Map<string, Json>();
  /** References found in the schema. They can be resolved only when all anchors are known. */
  readonly #references: { readonly reference: string; readonly path: readonly string[] }[] = [];

  constructor(root: Json) {
    this.#root = root;
  }

  readDocument(): void {
    this.#readSchema(this.#root, []);
    for (let next = this.#references.shift(); next !== undefined; next = this.#references.shift()) {
      this.#follow(next.reference, next.path);
    }
  }

  #readSchema(schema: Json, path: readonly string[]): void {
    if (this.faults.length >= faultsMax || typeof schema === "boolean") return;
    if (!isJsonObject(schema))
      return this.#report(path, `${shown(schema)} is no schema; write an object or a boolean`);
    if (this.#known.has(schema)) return;
    this.#known.add(schema);
    if (path.length > 0 && typeof schema["$id"] === "string") {
      this.#report(
        [...path, "$id"],
        "a schema within another may have no $id here; refer to it by its pointer",
      );
    }
    if (typeof schema["$anchor"] === "string") this.#anchors.set(schema["$anchor"], schema);
    for (const [name, wanted] of Object.entries(schema)) {
      const place = [...path, name];
      if (isKeyword(name)) this.#readForm(keywordForms[name], wanted, place);
      else if (Object.hasOwn(unservedKeywords, name)) {
        this.#report(place, `${name} is not checked by this server; ${unservedKeywords[name]}`);
      }
    }
  }

  #readForm(form: KeywordForm, wanted: Json, path: readonly string[]): void {
    const fault = faultOfForm(form, wanted);
    if (fault !== null) return this.#report(path, `${shown(wanted)} is no value of ${path.at(-1)}: ${fault}`);
    if (form === "schema") this.#readSchema(wanted, path);
    else if (form === "reference") this.#references.push({ reference: textOf(wanted), path });
    else if (form === "pattern") this.#readPattern(textOf(wanted), path);
    else if (form === "schemas" || form === "schema-map" || form === "pattern-map") {
      for (const [name, inner] of Object.entries(Object(wanted) as Record<string, Json>)) {
        if (form === "pattern-map") this.#readPattern(name, [...path, name]);
        this.#readSchema(inner, [...path, name]);
      }
    }
  }

  #readPattern(source: string, path: readonly string[]): void {
    try {
      this.patterns.read(source);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.#report(path, `the pattern ${quoted(source)} is not taken: ${error.message}`);
    }
  }

  #follow(reference: string, path: readonly string[]): void {
    const target = this.#targetOf(reference);
    if (target === undefined) {
      const message = `${quoted(reference)} leads nowhere in the schema; write a pointer such as #/$defs/name`;
      return this.#report(path, message);
    }
    this.targets.set(reference, target);
    this.#readSchema(target, path);
  }

  /**
   * Returns the schema to which a reference points: a JSON pointer or an anchor in the same document. Returns undefined
   * if there is no such schema.
   */
  #targetOf(reference: string): Json | undefined {
    if (!reference.startsWith("#")) return undefined;
    const fragment = decoded(reference.slice(1));
    if (fragment === "") return this.#root;
    if (!fragment.startsWith("/")) return this.#anchors.get(fragment);
    let value: Json | undefined = this.#root;
    for (const part of fragment.split("/").slice(1)) {
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof value !== "object" || value === null) return undefined;
      // This line also works if `value` is a list, because the indices of a list are property names.
      value = Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined;
    }
    return isJsonObject(value) || typeof value === "boolean" ? value : undefined;
  }

  #report(path: readonly string[], message: string): void {
    this.faults.push({ path, message });
  }
}

/**
 * Checks that a keyword's value has the right form. Returns null if it does, otherwise a description of the expected
 * form.
 */
function faultOfForm(form: KeywordForm, wanted: Json): string | null {
  switch (form) {
    case "schema":
      return isJsonObject(wanted) || typeof wanted === "boolean" ? null : "it takes a schema";
    case "schemas":
      return Array.isArray(wanted) && wanted.length > 0 ? null : "it takes a list of schemas, at least one";
    case "schema-map":
    case "pattern-map":
      return isJsonObject(wanted) ? null : "it takes an object of schemas";
    case "types":
      return areTypes([wanted].flat()) ? null : `it takes one or more of ${typeNames.join(", ")}`;
    case "any":
      return null;
    case "values":
      return Array.isArray(wanted) ? null : "it takes a list of values";
    case "number":
      return typeof wanted === "number" ? null : "it takes a number";
    case "positive":
      return typeof wanted === "number" && wanted > 0 ? null : "it takes a number above 0";
    case "count":
      return Number.isInteger(wanted) && Number(wanted) >= 0 ? null : "it takes a whole number, 0 or more";
    case "flag":
      return typeof wanted === "boolean" ? null : "it takes true or false";
    case "pattern":
    case "reference":
      return typeof wanted === "string" ? null : "it takes a text";
    case "names":
      return isTextList(wanted) ? null : "it takes a list of names";
    case "names-map":
      return isJsonObject(wanted) && Object.values(wanted).every(isTextList)
        ? null
        : "it takes lists of names by name";
    default:
      return unreachable(form);
  }
}

const typeNames = ["string", "number", "integer", "boolean", "object", "array", "null"];

function areTypes(types: readonly Json[]): boolean {
  return types.length > 0 && types.every((type) => typeNames.includes(textOf(type)));
}

function isTextList(value: Json): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

/** Returns a value of a parsed schema if it is a text; otherwise the empty text. */
export function textOf(value: Json): string {
  return typeof value === "string" ? value : "";
}

/** Formats a value for an error message. Returns only the type of a list or an object, because these can be large. */
export function shown(value: Json): string {
  if (Array.isArray(value)) return "the list";
  if (isJsonObject(value)) return "the object";
  return cut(JSON.stringify(typeof value === "string" ? value.slice(0, shownMax) : value), shownMax);
}

const shownMax = 100;

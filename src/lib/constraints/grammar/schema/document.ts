// A JSON Schema document. Finds each subschema by its JSON pointer, and the targets of references. Fetches nothing,
// and refuses references to other documents.
import { isExactObject } from "../../../../base/domain/text/exact-json.ts";
import type { ExactJson, ExactJsonObject } from "../../../../base/domain/text/exact-json.ts";
import { quoted } from "../../../../base/domain/service-error.ts";
import { ConstraintRefusal } from "../../regex/limits.ts";

/** A subschema of the document, with its location. */
export interface SchemaPlace {
  /** 0-based index in the order of first use. */
  readonly index: number;
  readonly schema: ExactJson;
  /** JSON pointer, for example `#/properties/name`. */
  readonly pointer: string;
}

/**
 * Keywords whose value is a schema or a list of schemas. Those in `mapKeywords` have an object of named schemas
 * instead. Schemas in the values of both kinds may define identifiers.
 */
const schemaKeywords =
  "items additionalItems unevaluatedItems additionalProperties unevaluatedProperties contains propertyNames not if then else allOf anyOf oneOf prefixItems".split(
    " ",
  );
const mapKeywords = "properties patternProperties dependentSchemas dependencies $defs definitions".split(" ");

const unnamedDocument = "schema:///document";

export class SchemaDocument {
  /**
   * True if the document uses `unevaluatedProperties` or `unevaluatedItems`, so evaluated properties and items are
   * tracked.
   */
  readonly tracksEvaluation: boolean;
  readonly root: SchemaPlace;
  readonly #source: ExactJson;
  readonly #usesPlainId: boolean;
  readonly #refersAlone: boolean;
  readonly #places: SchemaPlace[] = [];
  readonly #byPointer = new Map<string, SchemaPlace>();
  /** Maps each identifier to the pointer of the schema that has it. */
  readonly #resources = new Map<string, string>();
  readonly #anchors = new Map<string, string>();
  /** Maps the name of each `$dynamicAnchor` to the pointers of the schemas that have it. */
  readonly #dynamicAnchors = new Map<string, readonly string[]>();
  readonly #besideReferences: { readonly keyword: string; readonly pointer: string }[] = [];

  constructor(schema: ExactJson) {
    const dialect = isObject(schema) && typeof schema.$schema === "string" ? schema.$schema : "";
    this.#source = schema;
    this.#usesPlainId = /draft-0[34]/.test(dialect);
    // In draft 7 (section 8.3) and earlier drafts, all other keywords of a schema with a `$ref` have no effect.
    this.#refersAlone = /draft-0[3-7]/.test(dialect);
    this.tracksEvaluation = /"unevaluated(?:Properties|Items)":/.test(JSON.stringify(schema));
    this.#resources.set(unnamedDocument, "#");
    this.#index(schema, "#", unnamedDocument);
    this.root = this.place(schema, "#");
  }

  /**
   * Keywords next to a `$ref` that were ignored in the subschemas read so far. In their draft, all other keywords of a
   * schema with a `$ref` have no effect.
   */
  get besideReferences(): readonly { readonly keyword: string; readonly pointer: string }[] {
    return this.#besideReferences;
  }

  at(index: number): SchemaPlace {
    return this.#places[index];
  }

  /** Returns the subschema at a pointer; always the same object for the same pointer. */
  place(schema: ExactJson, pointer: string): SchemaPlace {
    const known = this.#byPointer.get(pointer);
    if (known !== undefined) return known;
    const place = { index: this.#places.length, schema: this.#counting(schema, pointer), pointer };
    this.#places.push(place);
    this.#byPointer.set(pointer, place);
    return place;
  }

  /** Returns a schema that allows only one value: `const`, or an entry of `enum`. */
  literal(value: ExactJson, pointer: string): SchemaPlace {
    return this.place({ const: value }, `value ${pointer}`);
  }

  /**
   * Returns the target of a reference.
   *
   * @throws ConstraintRefusal if the target is in another document or does not exist
   */
  resolve(from: SchemaPlace, reference: string, keyword = "$ref"): SchemaPlace {
    const at = `${from.pointer}/${keyword}`;
    const [path, fragment = ""] = reference.split("#", 2);
    const resource = this.#resourceOf(from.pointer);
    const target = this.#resources.get(resolved(path, resource.url));
    if (target === undefined)
      throw badReference(
        "not-exact",
        at,
        `points to another document, ${quoted(reference)}; put that schema into $defs`,
      );
    const name = decoded(fragment);
    if (name !== "" && !name.startsWith("/")) {
      const anchor = this.#anchors.get(`${resolved(path, resource.url)}#${name}`);
      if (anchor === undefined)
        throw badReference("malformed", at, `points to nothing in the schema: ${quoted(reference)}`);
      return this.#find(anchor, at, reference);
    }
    return this.#find(`${target}${name}`, at, reference);
  }

  /** Returns the target of a `$dynamicRef`; null if the target depends on the path that leads to the reference. */
  resolveDynamic(from: SchemaPlace, reference: string): SchemaPlace | null {
    const target = this.resolve(from, reference, "$dynamicRef");
    const [, fragment = ""] = reference.split("#", 2);
    const rivals = this.#dynamicAnchors.get(decoded(fragment)) ?? [];
    return rivals.length > 1 && rivals.includes(target.pointer) ? null : target;
  }

  /** Returns the schema without the keywords that its draft ignores. */
  #counting(schema: ExactJson, pointer: string): ExactJson {
    if (!this.#isReferenceAlone(schema)) return schema;
    const { $ref, ...beside } = schema;
    for (const keyword of Object.keys(beside)) this.#besideReferences.push({ keyword, pointer });
    return { $ref };
  }

  #isReferenceAlone(schema: ExactJson): schema is ExactJsonObject {
    return this.#refersAlone && isObject(schema) && typeof schema.$ref === "string";
  }

  #resourceOf(pointer: string): { readonly url: string; readonly pointer: string } {
    let best = { url: unnamedDocument, pointer: "#" };
    for (const [url, start] of this.#resources) {
      if ((pointer === start || pointer.startsWith(`${start}/`)) && start.length >= best.pointer.length)
        best = { url, pointer: start };
    }
    return best;
  }

  #find(pointer: string, at: string, reference: string): SchemaPlace {
    const known = this.#byPointer.get(pointer);
    if (known !== undefined) return known;
    let value: ExactJson | undefined = this.#source;
    for (const part of pointer.split("/").slice(1)) {
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
      if (Array.isArray(value)) value = value[Number(key)];
      else value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    }
    if (value === undefined)
      throw badReference("malformed", at, `points to nothing in the schema: ${quoted(reference)}`);
    return this.place(value, pointer);
  }

  /** Indexes the identifiers and anchors of a schema and its subschemas. */
  #index(schema: ExactJson, pointer: string, base: string): void {
    if (!isObject(schema)) return;
    let url = base;
    const id = this.#usesPlainId ? schema.id : schema.$id;
    if (typeof id === "string" && !this.#isReferenceAlone(schema)) {
      if (id.startsWith("#")) this.#anchors.set(`${base}${id}`, pointer);
      else {
        url = resolved(id.split("#", 1)[0], base);
        this.#resources.set(url, pointer);
      }
    }
    if (typeof schema.$anchor === "string") this.#anchors.set(`${url}#${schema.$anchor}`, pointer);
    const { $dynamicAnchor: dynamic } = schema;
    if (typeof dynamic === "string") {
      this.#anchors.set(`${url}#${dynamic}`, pointer);
      this.#dynamicAnchors.set(dynamic, [...(this.#dynamicAnchors.get(dynamic) ?? []), pointer]);
    }
    for (const [keyword, value] of Object.entries(schema)) {
      const below = `${pointer}/${escaped(keyword)}`;
      if (mapKeywords.includes(keyword) && isObject(value)) {
        for (const [name, inner] of Object.entries(value))
          this.#index(inner, `${below}/${escaped(name)}`, url);
      } else if (schemaKeywords.includes(keyword) && Array.isArray(value)) {
        for (const [index, inner] of value.entries()) this.#index(inner, `${below}/${index}`, url);
      } else if (schemaKeywords.includes(keyword)) this.#index(value, below, url);
    }
  }
}

export function isObject(value: ExactJson | undefined): value is ExactJsonObject {
  return value !== undefined && isExactObject(value);
}

/** Escapes a key for use in a JSON pointer (RFC 6901). */
export function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

function resolved(path: string, base: string): string {
  if (path === "") return base;
  try {
    return new URL(path, base).href;
  } catch {
    return path;
  }
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

function badReference(kind: "not-exact" | "malformed", place: string, problem: string): ConstraintRefusal {
  return new ConstraintRefusal({
    kind,
    subject: place.slice(place.lastIndexOf("/") + 1),
    place,
    message: `The reference at ${place} ${problem}.`,
  });
}

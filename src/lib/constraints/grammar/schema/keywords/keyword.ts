// Context for reading keywords, and the refusals of unreadable ones.
import { exactJsonText, isExactObject } from "../../../../../base/domain/text/exact-json.ts";
import type { ExactJson } from "../../../../../base/domain/text/exact-json.ts";
import { quoted } from "../../../../../base/domain/service-error.ts";
import { ConstraintRefusal } from "../../../regex/limits.ts";
import type { Compilation } from "../../compilation.ts";
import type { SchemaDocument, SchemaPlace } from "../document.ts";
import { escaped } from "../document.ts";
import type { FewValues } from "../few-values.ts";
import type { Goal, Goals } from "../goals.ts";
import type { Shape } from "../shapes.ts";
import type { Texts } from "../texts.ts";

/** One keyword, or several that only have a meaning together. */
export interface Keyword {
  readonly pointer: string;
  /** Returns the shapes of the values that satisfy it. */
  readonly satisfying: () => readonly Shape[];
  /** Returns the shapes of the values that violate it; if absent, the complement of `satisfying`. */
  readonly excluding?: () => readonly Shape[];
}

/** Makes a keyword that combines no schemas. */
export function simpleKeyword(shapes: readonly Shape[], pointer: string): Keyword {
  return { pointer, satisfying: () => shapes };
}

/** Services that combining keywords need from the schema reader. */
export interface KeywordContext {
  readonly document: SchemaDocument;
  readonly compilation: Compilation;
  readonly goals: Goals;
  readonly texts: Texts;
  readonly fewValues: FewValues;
  shapes(goal: Goal): readonly Shape[];
  satisfying(place: SchemaPlace): readonly Shape[];
  excluding(place: SchemaPlace): readonly Shape[];
  intersection(forms: readonly (readonly Shape[])[]): readonly Shape[];
  union(forms: readonly (readonly Shape[])[]): readonly Shape[];
}

/** Reads a keyword's value at the place `pointer`; null if it has no effect. */
export type ReadKeyword = (context: KeywordContext, value: ExactJson, at: KeywordPlace) => Keyword | null;

export interface KeywordPlace {
  /** The schema that contains the keyword. */
  readonly place: SchemaPlace;
  readonly schema: { readonly [key: string]: ExactJson };
  readonly keyword: string;
  readonly pointer: string;
}

export function subschema(context: KeywordContext, schema: ExactJson, pointer: string): SchemaPlace {
  if (typeof schema !== "boolean" && !isExactObject(schema))
    throw malformed(pointer, "a schema, which is an object or a boolean", schema);
  return context.document.place(schema, pointer);
}

/** Returns the schemas of a list as places. */
export function subschemas(
  context: KeywordContext,
  value: ExactJson,
  pointer: string,
): readonly SchemaPlace[] {
  if (!Array.isArray(value)) throw malformed(pointer, "a list of schemas", value);
  return value.map((schema: ExactJson, index) => subschema(context, schema, `${pointer}/${index}`));
}

/** Returns the schemas of an object, by name. */
export function namedSchemas(
  context: KeywordContext,
  value: ExactJson | undefined,
  pointer: string,
): readonly (readonly [name: string, place: SchemaPlace])[] {
  if (value === undefined) return [];
  if (!isExactObject(value)) throw malformed(pointer, "an object of schemas", value);
  return Object.entries(value).map(([name, schema]) => [
    name,
    subschema(context, schema, `${pointer}/${escaped(name)}`),
  ]);
}

/** Reads an integer of at least 0. */
export function countOf(value: ExactJson, pointer: string): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0)
    throw malformed(pointer, "a whole number of at least 0", value);
  return value;
}

export function namesOf(value: ExactJson, pointer: string): readonly string[] {
  if (!Array.isArray(value) || value.some((name) => typeof name !== "string"))
    throw malformed(pointer, "a list of names", value);
  return value.map(String);
}

export function malformed(pointer: string, wanted: string, value: ExactJson): ConstraintRefusal {
  return new ConstraintRefusal({
    kind: "malformed",
    subject: pointer.slice(pointer.lastIndexOf("/") + 1),
    place: pointer,
    message: `The schema has ${quoted(exactJsonText(value))} at ${pointer}; it must be ${wanted}.`,
  });
}

/** Returns the refusal of a known but unsupported keyword. */
export function refused(keyword: string, pointer: string, why: string): ConstraintRefusal {
  return new ConstraintRefusal({
    kind: "not-exact",
    subject: keyword,
    place: pointer,
    message: `The keyword ${keyword} at ${pointer} ${why}.`,
  });
}

/** Returns all shapes of other types, and this one for its type. */
export function ofType(all: readonly Shape[], shape: Shape): readonly Shape[] {
  return [...all.filter(({ type }) => type !== shape.type), shape];
}

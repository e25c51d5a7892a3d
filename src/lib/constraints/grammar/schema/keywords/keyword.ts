// Context for reading keywords, and refusals of malformed or unsupported keywords.
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

/** One keyword, or several that have a meaning only together. */
export interface Keyword {
  readonly pointer: string;
  /** Returns the shapes of the values that satisfy the keyword. */
  readonly satisfying: () => readonly Shape[];
  /** Returns the shapes of the values that violate the keyword. If absent, these are the complement of `satisfying`. */
  readonly excluding?: () => readonly Shape[];
}

/** Creates a keyword that combines no schemas. */
export function simpleKeyword(shapes: readonly Shape[], pointer: string): Keyword {
  return { pointer, satisfying: () => shapes };
}

/** Parts of the schema reader that the readers of keywords use. */
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

/** Reads the value of a keyword. Returns null if the keyword has no effect. */
export type ReadKeyword = (context: KeywordContext, value: ExactJson, at: KeywordPlace) => Keyword | null;

export interface KeywordPlace {
  /** Subschema that contains the keyword. */
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

/** Returns the subschemas in a list. */
export function subschemas(
  context: KeywordContext,
  value: ExactJson,
  pointer: string,
): readonly SchemaPlace[] {
  if (!Array.isArray(value)) throw malformed(pointer, "a list of schemas", value);
  return value.map((schema: ExactJson, index) => subschema(context, schema, `${pointer}/${index}`));
}

/** Returns the subschemas in an object, with their names. */
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

/** Returns shapes that allow all values of other types, and the given shape for its own type. */
export function ofType(all: readonly Shape[], shape: Shape): readonly Shape[] {
  return [...all.filter(({ type }) => type !== shape.type), shape];
}

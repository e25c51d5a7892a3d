// The keywords of one schema, in the order in which they are written. Annotations, and keywords that JSON Schema does
// not know, say nothing; what is known and not served is refused.
import { readAt } from "../../../regex/limits.ts";
import type { SchemaPlace } from "../document.ts";
import { isObject } from "../document.ts";
import { arrayKeywords } from "./arrays.ts";
import type { Keyword, KeywordContext, ReadKeyword } from "./keyword.ts";
import { refused, saying, subschema } from "./keyword.ts";
import { logicKeywords } from "./logic.ts";
import { numberKeywords } from "./numbers.ts";
import { objectKeywords } from "./objects.ts";
import { stringKeywords } from "./strings.ts";
import { typeKeywords } from "./types-and-values.ts";
import { unevaluatedKeywords } from "./unevaluated.ts";

const notServed: ReadKeyword = (_context, _value, { keyword, pointer }) => {
  throw refused(keyword, pointer, "is not supported");
};

const readers: ReadonlyMap<string, ReadKeyword> = new Map(
  Object.entries({
    ...typeKeywords,
    ...numberKeywords,
    ...stringKeywords,
    ...arrayKeywords,
    ...objectKeywords,
    ...logicKeywords,
    $recursiveRef: notServed,
  }),
);

/** Keywords that say something by themselves; others are read with one of them, or say nothing. */
export const knownKeywords: readonly string[] = [...readers.keys(), ...unevaluatedKeywords];

export function readKeywords(context: KeywordContext, place: SchemaPlace): readonly Keyword[] {
  // Whether it is a schema at all: what a reference leads to may be anything.
  const { schema, pointer } = subschema(context, place.schema, place.pointer);
  if (!isObject(schema)) return schema === false ? [saying([], pointer)] : [];
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const at = { place, schema, keyword, pointer: `${pointer}/${keyword}` };
    const where = { place: at.pointer, keyword };
    return readAt(context.compilation.limits, where, () => readers.get(keyword)?.(context, value, at) ?? []);
  });
}

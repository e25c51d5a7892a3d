// Reads the keywords of a schema in order. Annotations and keywords that JSON Schema does not define have no effect;
// keywords that it defines but Hone does not support are refused.
import { readAt } from "../../../regex/limits.ts";
import type { SchemaPlace } from "../document.ts";
import { isObject } from "../document.ts";
import { arrayKeywords } from "./arrays.ts";
import type { Keyword, KeywordContext, ReadKeyword } from "./keyword.ts";
import { refused, simpleKeyword, subschema } from "./keyword.ts";
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

/**
 * Keywords that have an effect by themselves. All other keywords are read together with one of these, or have no
 * effect.
 */
export const knownKeywords: readonly string[] = [...readers.keys(), ...unevaluatedKeywords];

export function readKeywords(context: KeywordContext, place: SchemaPlace): readonly Keyword[] {
  // Also checks that the value is a schema, because a reference may point to any value.
  const { schema, pointer } = subschema(context, place.schema, place.pointer);
  if (!isObject(schema)) return schema === false ? [simpleKeyword([], pointer)] : [];
  return Object.entries(schema).flatMap(([keyword, value]) => {
    const at = { place, schema, keyword, pointer: `${pointer}/${keyword}` };
    const where = { place: at.pointer, keyword };
    return readAt(context.compilation.limits, where, () => readers.get(keyword)?.(context, value, at) ?? []);
  });
}

// Keywords of arrays. In drafts up to 2019-09, `items` may be a list of schemas, with `additionalItems` for the items
// after these.
import type { ExactJson } from "../../../../../base/domain/text/exact-json.ts";
import { anyValue } from "../goals.ts";
import { allShapes, anyArray } from "../shapes.ts";
import type { ArrayShape } from "../shapes.ts";
import { countOf, malformed, ofType, simpleKeyword, subschema, subschemas } from "./keyword.ts";
import type { KeywordContext, Keyword, KeywordPlace, ReadKeyword } from "./keyword.ts";

export const arrayKeywords: Readonly<Record<string, ReadKeyword>> = {
  prefixItems(context, value, at) {
    return itemsBehind(context, value, { at, keyword: "items" });
  },
  items(context, value, at) {
    if (Array.isArray(value)) return itemsBehind(context, value, { at, keyword: "additionalItems" });
    // The reader of `prefixItems` also reads `items`.
    if (at.schema.prefixItems !== undefined) return null;
    const rest = context.goals.of(subschema(context, value, at.pointer));
    return arrays(context, { rest, evaluated: Number.POSITIVE_INFINITY }, at.pointer);
  },
  minItems(context, value, { pointer }) {
    return arrays(context, { min: countOf(value, pointer) }, pointer);
  },
  maxItems(context, value, { pointer }) {
    return arrays(context, { max: countOf(value, pointer) }, pointer);
  },
  uniqueItems(context, value, { pointer }) {
    if (typeof value !== "boolean") throw malformed(pointer, "a boolean", value);
    return value ? arrays(context, { uniqueAt: pointer }, pointer) : null;
  },
  contains(context, value, { pointer, schema, place }) {
    const { minContains = 1, maxContains } = schema;
    const min = countOf(minContains, `${place.pointer}/minContains`);
    const max =
      maxContains === undefined
        ? Number.POSITIVE_INFINITY
        : countOf(maxContains, `${place.pointer}/maxContains`);
    const goal = context.goals.of(subschema(context, value, pointer));
    // Without a minimum and a maximum, `contains` requires nothing, but it still evaluates items.
    if (min === 0 && max === Number.POSITIVE_INFINITY && !context.document.tracksEvaluation) return null;
    return arrays(context, { contains: [{ goal, min, max, pointer }] }, pointer);
  },
};

/** Reads schemas for the first items, and the schema in another keyword for all further items. */
function itemsBehind(
  context: KeywordContext,
  first: ExactJson,
  { at, keyword }: { readonly at: KeywordPlace; readonly keyword: string },
): Keyword {
  const { goals } = context;
  const { pointer, place, schema } = at;
  const prefix = subschemas(context, first, pointer).map((one) => goals.of(one));
  const behind = schema[keyword];
  const rest =
    behind === undefined ? anyValue : goals.of(subschema(context, behind, `${place.pointer}/${keyword}`));
  const evaluated = behind === undefined ? prefix.length : Number.POSITIVE_INFINITY;
  return arrays(context, { prefix, rest, evaluated }, pointer);
}

function arrays({ texts }: KeywordContext, changed: Partial<ArrayShape>, pointer: string): Keyword {
  return simpleKeyword(ofType(allShapes(texts.anyBody), { ...anyArray, ...changed }), pointer);
}

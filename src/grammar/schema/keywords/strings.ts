// Keywords of strings: lengths count characters (code points), patterns match anywhere, formats are asserted.
import type { Expression } from "../../../regex/expressions.ts";
import { matchAnywhere, wholeMatch } from "../../../regex/express-pattern.ts";
import type { Wording } from "../../../regex/express-pattern.ts";
import type { Pattern } from "../../../regex/pattern.ts";
import { parsePattern } from "../../../regex/parse-pattern.ts";
import { allShapes } from "../shapes.ts";
import { formatPattern, isAnnotation } from "./formats.ts";
import { countOf, malformed, ofType, refused } from "./keyword.ts";
import type { KeywordContext, Keyword, ReadKeyword } from "./keyword.ts";

export const stringKeywords: Readonly<Record<string, ReadKeyword>> = {
  minLength(context, value, { pointer, schema }) {
    // Both lengths are one expression, which is smaller than the intersection of two.
    const max = schema.maxLength === undefined ? Number.POSITIVE_INFINITY : schema.maxLength;
    const min = countOf(value, pointer);
    return bodies(
      context,
      lengths(context, min, typeof max === "number" && max >= min ? max : undefined),
      pointer,
    );
  },
  maxLength(context, value, { pointer, schema }) {
    const max = countOf(value, pointer);
    const { minLength = 0 } = schema;
    if (typeof minLength === "number" && minLength > 0 && minLength <= max) return null;
    return bodies(context, lengths(context, 0, max), pointer);
  },
  pattern(context, value, { pointer }) {
    if (typeof value !== "string") throw malformed(pointer, "a regular expression", value);
    return bodies(context, patternBodies(context, value, pointer), pointer);
  },
  format(context, value, { pointer, keyword }) {
    if (typeof value !== "string") throw malformed(pointer, "the name of a format", value);
    if (isAnnotation(value)) return null;
    const pattern = formatPattern(value);
    if (pattern === null) throw refused(keyword, pointer, `has the value ${value}, which is not supported`);
    return bodies(context, wholeMatch(...patternIn(context, pattern, pointer)), pointer);
  },
};

/** The bodies of the strings in which the pattern matches somewhere. */
export function patternBodies(context: KeywordContext, pattern: string, pointer: string): Expression {
  return matchAnywhere(...patternIn(context, pattern, pointer));
}

function patternIn({ workshop, texts }: KeywordContext, text: string, place: string): [Wording, Pattern] {
  const wording = { expressions: workshop.expressions, spelling: texts.spelling, place };
  return [wording, parsePattern(text, workshop, place)];
}

function lengths({ workshop, texts }: KeywordContext, min: number, max?: number): Expression {
  return workshop.expressions.repeat(texts.spelling.character, min, max);
}

function bodies({ texts }: KeywordContext, body: Expression, pointer: string): Keyword {
  return {
    shapes: ofType(allShapes(texts.anyBody), { type: "string", body, values: null }),
    pointer,
  };
}

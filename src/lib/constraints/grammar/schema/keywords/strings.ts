// Keywords of strings. Lengths count characters (code points), patterns match anywhere in a string, and formats are
// enforced.
import { quoted } from "../../../../../base/domain/service-error.ts";
import type { ExactJson } from "../../../../../base/domain/text/exact-json.ts";
import type { Expression } from "../../../regex/expressions.ts";
import { matchAnywhere, wholeMatch } from "../../../regex/compile-pattern.ts";
import type { PatternContext } from "../../../regex/compile-pattern.ts";
import type { Pattern } from "../../../regex/pattern.ts";
import { parsePattern } from "../../../regex/parse-pattern.ts";
import { allShapes } from "../shapes.ts";
import { formatPattern, isAnnotation } from "./formats.ts";
import { countOf, malformed, ofType, refused, simpleKeyword } from "./keyword.ts";
import type { KeywordContext, Keyword, KeywordPlace, ReadKeyword } from "./keyword.ts";

export const stringKeywords: Readonly<Record<string, ReadKeyword>> = {
  minLength(context, value, { pointer, schema }) {
    // Combines the minimum and the maximum length in one expression, which is smaller than an intersection of two
    // expressions.
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
  format(context, value, at) {
    const { pointer, schema } = at;
    if (typeof value !== "string") throw malformed(pointer, "the name of a format", value);
    if (isAnnotation(value) || !mayBeString(schema.type)) return null;
    const pattern = formatPattern(value);
    if (pattern === null) return unknownFormat(context, value, at);
    const express = (): Expression => wholeMatch(...patternIn(context, pattern, pointer));
    return bodies(context, context.compilation.expressions.named(`format:${value}`, express), pointer);
  },
};

/** True if the type allows strings; otherwise, formats have no effect. */
function mayBeString(type: ExactJson | undefined): boolean {
  return type === undefined || [type].flat().includes("string");
}

/**
 * Adds a notice about an unknown format, or refuses it if strict formats are configured. By default an implementation
 * ignores unknown formats (JSON Schema 2020-12, validation, section 7.2.1).
 */
function unknownFormat(
  { compilation }: KeywordContext,
  format: string,
  { keyword, pointer }: KeywordPlace,
): null {
  if (!compilation.limits.strictFormats) {
    compilation.notices.addUnknownFormat(format, pointer);
    return null;
  }
  const why = `has the value ${quoted(format)}, which is unknown; leave it out, or describe the texts with pattern (constraints.strictFormats refuses unknown formats)`;
  throw refused(keyword, pointer, why);
}

/** Returns the bodies of the strings in which the pattern matches somewhere. */
export function patternBodies(context: KeywordContext, pattern: string, pointer: string): Expression {
  return matchAnywhere(...patternIn(context, pattern, pointer));
}

function patternIn(
  { compilation, texts }: KeywordContext,
  text: string,
  place: string,
): [PatternContext, Pattern] {
  const wording = { expressions: compilation.expressions, spelling: texts.spelling, place };
  return [wording, parsePattern(text, compilation, place)];
}

function lengths({ compilation, texts }: KeywordContext, min: number, max?: number): Expression {
  return compilation.expressions.repeat(texts.spelling.character, min, max);
}

function bodies({ texts }: KeywordContext, body: Expression, pointer: string): Keyword {
  return simpleKeyword(ofType(allShapes(texts.anyBody), { type: "string", body, values: null }), pointer);
}

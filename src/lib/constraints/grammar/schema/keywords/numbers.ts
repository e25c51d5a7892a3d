// Keywords of numbers. In draft 4, a second keyword makes a bound exclusive; in later drafts, exclusive bounds are
// separate keywords.
import { ExactNumber } from "../../../../../base/domain/text/exact-json.ts";
import type { ExactJson } from "../../../../../base/domain/text/exact-json.ts";
import { dividesOne, plainDecimal } from "../decimals.ts";
import { allShapes, anyNumber } from "../shapes.ts";
import type { NumberShape } from "../shapes.ts";
import { everywhere } from "../spans.ts";
import { malformed, ofType, refused, simpleKeyword } from "./keyword.ts";
import type { KeywordContext, Keyword, ReadKeyword } from "./keyword.ts";

/**
 * Returns the reader of a bound, `minimum` or `maximum`. In draft 4, the exclusive keyword is a boolean that makes this
 * bound exclusive.
 */
function bound(side: "atLeast" | "atMost", exclusiveKeyword: string): ReadKeyword {
  return (context, value, { pointer, schema, keyword }) => {
    if (keyword === exclusiveKeyword && typeof value === "boolean") return null;
    const isExclusive = keyword === exclusiveKeyword || schema[exclusiveKeyword] === true;
    const decimal = decimalOf(value, pointer);
    return numbers(context, pointer, {
      within: context.texts.numbers[side]({ decimal, isExclusive }),
      span: { ...everywhere, [side === "atLeast" ? "least" : "greatest"]: Number(decimal) },
    });
  };
}

export const numberKeywords: Readonly<Record<string, ReadKeyword>> = {
  minimum: bound("atLeast", "exclusiveMinimum"),
  exclusiveMinimum: bound("atLeast", "exclusiveMinimum"),
  maximum: bound("atMost", "exclusiveMaximum"),
  exclusiveMaximum: bound("atMost", "exclusiveMaximum"),
  multipleOf(context, value, { pointer, keyword, schema }) {
    const decimal = decimalOf(value, pointer);
    if (decimal === "0" || decimal.startsWith("-")) throw malformed(pointer, "a number above 0", value);
    // Integers are recognized by their form, so they may have any number of digits.
    if (decimal === "1") return numbers(context, pointer, wholeNumbers);
    if (dividesOne(decimal) && isWhole(schema.type)) return null;
    const multiples = context.texts.numbers.multipleOf(decimal);
    if (multiples === null) throw refused(keyword, pointer, "has too many digits");
    const step = Number.isSafeInteger(value) ? Number(value) : 0;
    return numbers(context, pointer, { within: multiples, isShort: true, span: { ...everywhere, step } });
  },
};

const wholeNumbers = { isInteger: true, within: null, span: { ...everywhere, step: 1 } };

/** True if the type allows integers, but no other numbers. */
function isWhole(type: ExactJson | undefined): boolean {
  const types = [type ?? "number"].flat();
  return types.includes("integer") && !types.includes("number");
}

/**
 * Formats a keyword's number as a decimal text.
 *
 * @throws ConstraintRefusal if the value is not a number or has too many digits
 */
export function decimalOf(value: ExactJson, pointer: string): string {
  if (typeof value !== "number" && !(value instanceof ExactNumber))
    throw malformed(pointer, "a number", value);
  const decimal = plainDecimal(value);
  if (decimal === null) throw malformed(pointer, "a number of fewer digits", value);
  return decimal;
}

function numbers(
  { texts }: KeywordContext,
  pointer: string,
  such: Pick<NumberShape, "within" | "span"> & Partial<NumberShape>,
): Keyword {
  return simpleKeyword(ofType(allShapes(texts.anyBody), { ...anyNumber, ...such }), pointer);
}

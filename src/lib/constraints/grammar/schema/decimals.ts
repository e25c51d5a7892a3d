// Decimal numbers as texts. Bounds, equality and multiples are expressions over digits, so the intersection and the
// complement of sets of numbers are those of their texts. Only unconstrained numbers may be written with an exponent.
import { present } from "../../../../base/domain/assert.ts";
import { ExactNumber, isExactList, isExactObject } from "../../../../base/domain/text/exact-json.ts";
import type { ExactJson } from "../../../../base/domain/text/exact-json.ts";
import type { Expression, Expressions } from "../../regex/expressions.ts";
import { divisorMax, multipleDigitsMax, multipleOf } from "../../regex/multiple.ts";

/** A lower or upper bound of numbers. */
export interface Bound {
  /** A finite number in the format of `plainDecimal`. */
  readonly decimal: string;
  readonly isExclusive: boolean;
}

export interface NumberTexts {
  /** Any JSON number. */
  readonly any: Expression;
  /** Numbers without an exponent. */
  readonly decimal: Expression;
  /** Integers without a fraction. */
  readonly integer: Expression;
  /**
   * Matches each number in its shortest form without an exponent, so each number has one text. `shortestInteger`
   * matches only integers.
   */
  readonly shortest: Expression;
  readonly shortestInteger: Expression;
  /** Numbers with at most as many digits as a double holds exactly. */
  readonly short: Expression;
  /** Integers, optionally followed by a fraction of zeros. */
  readonly whole: Expression;
  atLeast(bound: Bound): Expression;
  atMost(bound: Bound): Expression;
  equal(decimal: string): Expression;
  /** Returns the multiples of a divisor; null if the divisor has too many digits. */
  multipleOf(decimal: string): Expression | null;
}

export function numberTexts(expressions: Expressions): NumberTexts {
  const digit = anyDigit(expressions);
  const text = (literal: string) => byteText(expressions, literal);
  const sign = expressions.optional(text("-"));
  const natural = expressions.or(
    text("0"),
    expressions.sequence(expressions.range(0x31, 0x39), expressions.repeat(digit, 0)),
  );
  const fraction = expressions.sequence(text("."), expressions.repeat(digit, 1));
  const zeros = expressions.sequence(text("."), expressions.repeat(text("0"), 1));
  const exponent = expressions.sequence(
    expressions.or(text("e"), text("E")),
    expressions.optional(expressions.or(text("+"), text("-"))),
    expressions.repeat(digit, 1),
  );
  const size = expressions.sequence(natural, expressions.optional(fraction));
  const decimal = expressions.sequence(sign, size);
  const sizes = { expressions, natural, fraction, size, zeros };

  const nonZero = expressions.range(0x31, 0x39);
  const shortestInteger = expressions.or(
    text("0"),
    expressions.sequence(sign, nonZero, expressions.repeat(digit, 0)),
  );

  const signed = (isNegative: boolean, of: Expression) =>
    isNegative ? expressions.sequence(text("-"), of) : of;
  const atLeast = ({ decimal: bound, isExclusive }: Bound): Expression => {
    const { isNegative, digits } = parts(bound);
    if (isNegative) return expressions.or(size, signed(true, sizeAtMost(sizes, digits, isExclusive)));
    const positive = sizeAtLeast(sizes, digits, isExclusive);
    return isZero(digits) && !isExclusive
      ? expressions.or(positive, signed(true, equalSize(sizes, digits)))
      : positive;
  };
  const equal = (value: string): Expression => {
    const { isNegative, digits } = parts(value);
    const same = equalSize(sizes, digits);
    return isZero(digits) ? expressions.or(same, signed(true, same)) : signed(isNegative, same);
  };
  return {
    any: expressions.sequence(decimal, expressions.optional(exponent)),
    decimal,
    integer: expressions.sequence(sign, natural),
    shortest: expressions.or(
      shortestInteger,
      expressions.sequence(sign, natural, text("."), expressions.repeat(digit, 0), nonZero),
    ),
    shortestInteger,
    short: expressions.sequence(
      sign,
      expressions.repeat(expressions.sequence(digit, expressions.optional(text("."))), 1, multipleDigitsMax),
    ),
    whole: expressions.sequence(sign, natural, expressions.optional(zeros)),
    atLeast,
    atMost: ({ decimal: bound, isExclusive }) =>
      expressions.and(decimal, expressions.not(atLeast({ decimal: bound, isExclusive: !isExclusive }))),
    equal,
    multipleOf: (value) => {
      const [whole, behind = ""] = value.split(".");
      const divisor = Number(whole + behind);
      if (divisor > divisorMax) return null;
      const multiple = expressions.multiple(multipleOf(divisor, behind.length));
      return expressions.and(decimal, expressions.sequence(sign, multiple));
    },
  };
}

interface Sizes {
  readonly expressions: Expressions;
  readonly natural: Expression;
  readonly fraction: Expression;
  /** Numbers without their sign. */
  readonly size: Expression;
  /** A decimal point followed by zeros. */
  readonly zeros: Expression;
}

interface Digits {
  readonly whole: string;
  /** Digits after the decimal point, without trailing zeros. */
  readonly behind: string;
}

function parts(decimal: string): { readonly isNegative: boolean; readonly digits: Digits } {
  const isNegative = decimal.startsWith("-");
  const [whole, behind = ""] = decimal.replace("-", "").split(".");
  return { isNegative, digits: { whole, behind: behind.replace(/0+$/, "") } };
}

const isZero = ({ whole, behind }: Digits): boolean => whole === "0" && behind === "";

function equalSize({ expressions, zeros }: Sizes, { whole, behind }: Digits): Expression {
  if (behind === "") return expressions.sequence(byteText(expressions, whole), expressions.optional(zeros));
  return expressions.sequence(
    byteText(expressions, `${whole}.${behind}`),
    expressions.repeat(byteText(expressions, "0"), 0),
  );
}

/**
 * Returns an expression for the unsigned numbers that are greater than the number with these digits or, unless
 * exclusive, equal to it. A number is greater if it has more integer digits, or the greater digit at the first
 * difference.
 */
function sizeAtLeast(sizes: Sizes, digits: Digits, isExclusive: boolean): Expression {
  const { expressions, fraction } = sizes;
  const { whole, behind } = digits;
  const digit = anyDigit(expressions);
  const anyFraction = expressions.optional(fraction);
  const nonZero = expressions.range(0x31, 0x39);
  const options = [expressions.sequence(nonZero, expressions.repeat(digit, whole.length), anyFraction)];
  const text = behind === "" ? whole : `${whole}.${behind}`;
  for (let place = 0; place < text.length; place++) {
    if (text[place] === "." || text[place] === "9") continue;
    const left = whole.length - place - 1;
    options.push(
      expressions.sequence(
        byteText(expressions, text.slice(0, place)),
        expressions.range(text.charCodeAt(place) + 1, 0x39),
        left < 0
          ? expressions.repeat(digit, 0)
          : expressions.sequence(expressions.repeat(digit, left, left), anyFraction),
      ),
    );
  }
  const goesOn = behind === "" ? anyFraction : expressions.repeat(digit, 0);
  const atLeast = expressions.or(...options, expressions.sequence(byteText(expressions, text), goesOn));
  return isExclusive ? expressions.and(atLeast, expressions.not(equalSize(sizes, digits))) : atLeast;
}

function sizeAtMost(sizes: Sizes, digits: Digits, isExclusive: boolean): Expression {
  const { expressions, size } = sizes;
  return expressions.and(size, expressions.not(sizeAtLeast(sizes, digits, !isExclusive)));
}

const anyDigit = (expressions: Expressions): Expression => expressions.range(0x30, 0x39);

/** Returns an expression that matches exactly these ASCII characters. */
function byteText(expressions: Expressions, text: string): Expression {
  return expressions.literal(new TextEncoder().encode(text));
}

/** Maximum number of digits, including zeros, of a number written without an exponent. */
const digitsMax = 400;

/** Formats a number without an exponent in its shortest form; null if that form has too many digits. */
export function plainDecimal(value: number | ExactNumber): string | null {
  return plainText(typeof value === "number" ? String(value) : value.text);
}

/** Like {@link plainDecimal} for doubles, which never have too many digits. */
export function doubleDecimal(value: number): string {
  return present(plainText(String(value)), "the digits of a double");
}

/**
 * Formats a JSON number like {@link plainDecimal}.
 *
 * @param text text of the number
 */
function plainText(text: string): string | null {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  if (match === null || text.length > 2 * digitsMax) return null;
  const [, sign, whole, behind = "", power = "0"] = match;
  const digits = (whole + behind).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  // Number of significant digits before the decimal point; negative if zeros follow the point.
  const point = digits.length - behind.length + Number(power);
  if (Math.max(point, significant.length, significant.length - point) > digitsMax) return null;
  if (point <= 0) return `${sign}0.${"0".repeat(-point)}${significant}`;
  if (point >= significant.length) return sign + significant.padEnd(point, "0");
  return `${sign}${significant.slice(0, point)}.${significant.slice(point)}`;
}

/** Replaces each number by a double if the double has exactly the same value: 2.0 by 2, and 1e3 by 1000. */
export function withDoubles(value: ExactJson): ExactJson {
  if (value instanceof ExactNumber) {
    const double = Number(value.text);
    const decimal = plainDecimal(value);
    return decimal !== null && plainDecimal(double) === decimal ? double : value;
  }
  if (isExactList(value)) return value.map(withDoubles);
  if (!isExactObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withDoubles(inner)]));
}

/**
 * True if 1 is a multiple of a positive number in the format of `plainDecimal`. Then each integer is a multiple of it.
 */
export function dividesOne(decimal: string): boolean {
  const [whole, behind = ""] = decimal.split(".");
  return 10n ** BigInt(behind.length) % BigInt(whole + behind) === 0n;
}

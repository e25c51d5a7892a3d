// Byte encodings of characters: plain UTF-8, or the content of a JSON string with all escapes that JSON allows (RFC
// 8259, section 7). Lone surrogates have no encoding.
import {
  intersectPoints,
  lastCodePoint,
  complementPoints,
  pointsOf,
  rangesOf,
  unionPoints,
} from "./code-points.ts";
import { allCharacters } from "./code-points.ts";
import type { CodePoints } from "./code-points.ts";
import type { Expression, Expressions } from "../expressions.ts";

/** Encodes sets of characters for one context, such as the inside of a JSON string. */
export interface Spelling {
  /** Returns the expression that matches exactly one character of the set. */
  spell(set: CodePoints): Expression;
  /** Matches any single character. */
  readonly character: Expression;
}

type Spell = (expressions: Expressions, set: CodePoints) => Expression;

/** Plain UTF-8. */
export const plainSpelling = (expressions: Expressions): Spelling => named("utf8", expressions, utf8);

/** Text between the quotation marks of a JSON string, with any escapes. */
export const jsonSpelling = (expressions: Expressions): Spelling => named("json", expressions, jsonCharacter);

/**
 * Text between the quotation marks of a JSON string, with each character written as `JSON.stringify` writes it. Each
 * string thus has exactly one encoding.
 */
export const shortestSpelling = (expressions: Expressions): Spelling =>
  named("shortest", expressions, shortestCharacter);

function named(name: string, expressions: Expressions, spell: Spell): Spelling {
  const spellOnce = (set: CodePoints): Expression =>
    expressions.named(`${name}:${set.join(",")}`, () => spell(expressions, set));
  return { spell: spellOnce, character: spellOnce(allCharacters) };
}

const utf8Lengths = [
  { low: 0x80, high: 0x7ff, lead: 0xc0, width: 2 },
  { low: 0x800, high: 0xffff, lead: 0xe0, width: 3 },
  { low: 0x10000, high: lastCodePoint, lead: 0xf0, width: 4 },
];

function utf8(expressions: Expressions, set: CodePoints): Expression {
  const parts: Expression[] = [];
  for (const [from, to] of rangesOf(intersectPoints(set, allCharacters))) {
    if (from < 0x80) parts.push(expressions.range(from, Math.min(to, 0x7f)));
    for (const { low, high, lead, width } of utf8Lengths) {
      if (from > high || to < low) continue;
      for (const places of digitRanges(Math.max(from, low), Math.min(to, high), {
        base: 64,
        width,
      })) {
        const bytes = places.map(([first, last], place) => {
          const mark = place === 0 ? lead : 0x80;
          return expressions.range(mark + first, mark + last);
        });
        parts.push(expressions.sequence(...bytes));
      }
    }
  }
  return expressions.or(...parts);
}

/** Characters that must be escaped in a JSON string. */
const escapedPoints = unionPoints([0, 0x1f], pointsOf('"\\'));
const shortEscapes: readonly (readonly [letter: string, character: string])[] = [
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
];

function jsonCharacter(expressions: Expressions, set: CodePoints): Expression {
  const letters = shortEscapes
    .filter(([, character]) => intersectPoints(set, pointsOf(character)).length > 0)
    .map(([letter]) => letter);
  const escapes = [
    ...letters.map((letter) => byteOf(expressions, letter)),
    expressions.sequence(byteOf(expressions, "u"), hexadecimal(expressions, set)),
  ];
  return expressions.or(
    utf8(expressions, intersectPoints(set, complementPoints(escapedPoints))),
    expressions.sequence(byteOf(expressions, "\\"), expressions.or(...escapes)),
  );
}

function shortestCharacter(expressions: Expressions, set: CodePoints): Expression {
  const escapes = rangesOf(intersectPoints(set, escapedPoints)).flatMap(([from, to]) =>
    Array.from({ length: to - from + 1 }, (_, index) => {
      const written = JSON.stringify(String.fromCodePoint(from + index)).slice(1, -1);
      return expressions.literal(new TextEncoder().encode(written));
    }),
  );
  return expressions.or(utf8(expressions, intersectPoints(set, complementPoints(escapedPoints))), ...escapes);
}

/** Matches what follows `\u`: four hexadecimal digits, or a surrogate pair. */
function hexadecimal(expressions: Expressions, set: CodePoints): Expression {
  const parts: Expression[] = [];
  for (const [from, to] of rangesOf(intersectPoints(set, allCharacters))) {
    if (from <= 0xffff) parts.push(hexRange(expressions, from, Math.min(to, 0xffff)));
    if (to < 0x10000) continue;
    const first = Math.max(from, 0x10000) - 0x10000;
    for (const [high, low] of digitRanges(first, to - 0x10000, { base: 1024, width: 2 })) {
      parts.push(
        expressions.sequence(
          hexRange(expressions, 0xd800 + high[0], 0xd800 + high[1]),
          expressions.literal(new TextEncoder().encode("\\u")),
          hexRange(expressions, 0xdc00 + low[0], 0xdc00 + low[1]),
        ),
      );
    }
  }
  return expressions.or(...parts);
}

function hexRange(expressions: Expressions, from: number, to: number): Expression {
  const sequences = digitRanges(from, to, { base: 16, width: 4 }).map((places) =>
    expressions.sequence(...places.map(([low, high]) => hexDigit(expressions, low, high))),
  );
  return expressions.or(...sequences);
}

function hexDigit(expressions: Expressions, low: number, high: number): Expression {
  const digit = (value: number, letters: string) => letters.charCodeAt(value);
  const parts: Expression[] = [];
  for (let value = low; value <= high; value++) {
    const [small, large] = [digit(value, "0123456789abcdef"), digit(value, "0123456789ABCDEF")];
    parts.push(expressions.range(small, small), expressions.range(large, large));
  }
  return expressions.or(...parts);
}

function byteOf(expressions: Expressions, character: string): Expression {
  return expressions.range(character.charCodeAt(0), character.charCodeAt(0));
}

type DigitRange = readonly [low: number, high: number];

/**
 * Returns sequences of digit ranges, most significant digit first, that together cover the numbers from `low` to
 * `high`. For example, 318 to 420 in base ten is covered by 318–319, 32–39 followed by 0–9, 40–41 followed by 0–9, and
 * 420.
 */
function digitRanges(
  low: number,
  high: number,
  { base, width }: { readonly base: number; readonly width: number },
): readonly (readonly DigitRange[])[] {
  if (width === 1) return [[[low, high]]];
  const unit = base ** (width - 1);
  const [first, last] = [Math.floor(low / unit), Math.floor(high / unit)];
  const below = (from: number, to: number) => digitRanges(from, to, { base, width: width - 1 });
  const within = (digit: number, from: number, to: number) =>
    below(from, to).map((rest): readonly DigitRange[] => [[digit, digit], ...rest]);
  if (first === last) return within(first, low % unit, high % unit);
  const isFirstWhole = low % unit === 0;
  const isLastWhole = high % unit === unit - 1;
  const [from, to] = [isFirstWhole ? first : first + 1, isLastWhole ? last : last - 1];
  const whole: readonly DigitRange[] = Array.from({ length: width - 1 }, () => [0, base - 1] as const);
  return [
    ...(isFirstWhole ? [] : within(first, low % unit, unit - 1)),
    ...(from <= to ? [[[from, to] as const, ...whole]] : []),
    ...(isLastWhole ? [] : within(last, 0, high % unit)),
  ];
}

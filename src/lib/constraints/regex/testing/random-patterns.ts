// Generates random patterns in the subset that JavaScript and this engine share. Each pattern comes with texts made to
// match it, texts that differ from these in one character, and unrelated texts.
import * as fc from "fast-check";

export interface PatternWithTexts {
  readonly pattern: string;
  /** The ECMA-262 flags `i` and `s`, in addition to `u`, which is always set. */
  readonly flags: string;
  readonly texts: readonly string[];
}

/** A pattern, and a generator of texts that should match the pattern. */
interface Part {
  readonly pattern: string;
  readonly text: (draw: Draw) => string;
}

/** Draws an integer that is at least 0 and less than the bound. */
type Draw = (bound: number) => number;

const one = (pattern: string, ...texts: readonly string[]): Part => ({
  pattern,
  text: (draw) => texts[draw(texts.length)],
});

const characters: readonly Part[] = [
  ...Array.from(" ab0_é😀-,", (character) => one(character, character)),
  one(".", "a", "é", "0", "😀"),
  one("\\d", "0", "7"),
  one("\\D", "a", "\n", "٣"),
  one("\\w", "a", "Z", "_", "9"),
  one("\\W", " ", "é", "-"),
  one("\\s", " ", "\n", "\u00a0"),
  one("\\S", "b", "😀"),
  one("\\u00e9", "é"),
  one("\\x61", "a"),
  one("\\n", "\n"),
  one("\\t", "\t"),
  one("\\cJ", "\n"),
  one("\\.", "."),
  one("\\$", "$"),
  one("\\u{1F600}", "😀"),
  one("\\ud83d\\ude00", "😀"),
  one("[ab]", "a", "b"),
  one("[^ab]", "c", "é", "\n"),
  one("[a-z0-9]", "q", "5"),
  one("[^\\d]", "x", "😀"),
  one("[é-ü]", "ê", "ü"),
  one("[\\s_]", "_", " "),
  one("[^\\w]", "-", "ß"),
  one("[^\\W_]", "a", "0"),
  one("[\\]\\\\^-]", "]", "\\", "^", "-"),
  one("[.*+?]", ".", "*", "+", "?"),
  one("[kßσ]", "k", "ß", "σ"),
  one("[\\u{1F600}-\\u{1F64F}]", "😁", "🙏"),
];

/** Properties with large character sets, which are the most expensive. */
const properties: readonly Part[] = [
  one("\\p{Lu}", "A", "É", "Σ"),
  one("\\P{L}", "1", " "),
  one("\\p{Script=Greek}", "α", "Ω"),
];

const quantifiers: readonly (readonly [text: string, min: number, max: number])[] = [
  ["*", 0, 3],
  ["+", 1, 3],
  ["?", 0, 1],
  ["{2}", 2, 2],
  ["{1,2}", 1, 2],
  ["{0,3}", 0, 3],
  ["{2,}", 2, 3],
  ["*?", 0, 2],
  ["+?", 1, 2],
  ["{1,3}?", 1, 3],
];

const quantified = ({ pattern, text }: Part, [sign, min, max]: (typeof quantifiers)[number]): Part => ({
  pattern: pattern + sign,
  text: (draw) => Array.from({ length: min + draw(max - min + 1) }, () => text(draw)).join(""),
});

const parts = fc.letrec<{ readonly atom: Part; readonly choice: Part }>((tie) => ({
  atom: fc.oneof(
    { maxDepth: 3 },
    { weight: 40, arbitrary: fc.constantFrom(...characters) },
    { weight: 1, arbitrary: fc.constantFrom(...properties) },
    { weight: 20, arbitrary: grouped(tie("choice")) },
  ),
  choice: fc.array(sequences(repeated(tie("atom"))), { minLength: 1, maxLength: 3 }).map((options) => ({
    pattern: options.map(({ pattern }) => pattern).join("|"),
    text: (draw) => options[draw(options.length)].text(draw),
  })),
})).choice;

function grouped(choice: fc.Arbitrary<Part>): fc.Arbitrary<Part> {
  return fc
    .tuple(choice, fc.constantFrom("(", "(?:", "(?<name>"))
    .map(([{ pattern, text }, opening]) => ({ pattern: `${opening}${pattern})`, text }));
}

function repeated(atom: fc.Arbitrary<Part>): fc.Arbitrary<Part> {
  return fc.oneof(
    { weight: 3, arbitrary: atom },
    {
      weight: 2,
      arbitrary: fc.tuple(atom, fc.constantFrom(...quantifiers)).map(([part, how]) => quantified(part, how)),
    },
  );
}

function sequences(part: fc.Arbitrary<Part>): fc.Arbitrary<Part> {
  const some = fc.array(part, { minLength: 1, maxLength: 4 }).map(inSequence);
  return fc.oneof({ weight: 12, arbitrary: some }, { weight: 1, arbitrary: fc.constant(inSequence([])) });
}

function inSequence(sequence: readonly Part[]): Part {
  return {
    pattern: sequence.map(({ pattern }) => pattern).join(""),
    text: (draw) => sequence.map(({ text }) => text(draw)).join(""),
  };
}

/** A pattern, sometimes with a look-ahead or anchors. */
const whole = fc
  .tuple(parts, fc.option(fc.tuple(parts, fc.constantFrom("(?=", "(?!")), { freq: 6 }), fc.boolean())
  .map(([{ pattern, text }, look, isAnchored]): Part => {
    const ahead = look === null ? "" : `${look[1]}${look[0].pattern})`;
    const rest = look === null && !isAnchored ? pattern : `(?:${pattern})`;
    return { pattern: isAnchored ? `^${ahead}${rest}$` : `${ahead}${rest}`, text };
  });

const strangers = "ab0_ \n.é😀KkſßẞΣς-";
/**
 * Maximum lengths of the generated patterns and texts. JavaScript's engine backtracks, so longer patterns could take
 * practically forever.
 */
const patternLengthMax = 40;
const textLengthMax = 10;

export const patternsWithTexts: fc.Arbitrary<PatternWithTexts> = fc
  .record({
    part: whole.filter(
      ({ pattern }) => pattern.length <= patternLengthMax && pattern.split("?<name>").length < 3,
    ),
    flags: fc.constantFrom("", "", "", "i", "s", "is"),
    start: fc.integer({ min: 1, max: 2_147_483_646 }),
  })
  .map(({ part, flags, start }) => {
    let state = start;
    const draw: Draw = (bound) =>
      Math.floor(((state = (state * 16_807) % 2_147_483_647) / 2_147_483_647) * bound);
    const made = Array.from({ length: 4 }, () => part.text(draw));
    const missed = made.map((text) => nearly(text, draw));
    const strange = Array.from({ length: 3 }, () =>
      Array.from({ length: draw(6) }, () => drawn(strangers, draw)).join(""),
    );
    return {
      pattern: part.pattern,
      flags,
      texts: [...made, ...missed, ...strange].filter((text) => Array.from(text).length <= textLengthMax),
    };
  });

/** Returns the text with one character inserted, removed or changed. */
function nearly(text: string, draw: Draw): string {
  const points = Array.from(text);
  const place = draw(points.length + 1);
  const replaced = draw(2);
  return points.toSpliced(place, replaced, ...(draw(3) === 0 ? [] : [drawn(strangers, draw)])).join("");
}

function drawn(from: string, draw: Draw): string {
  const points = Array.from(from);
  return points[draw(points.length)];
}

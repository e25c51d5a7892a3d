// Parses regular expressions in ECMA-262's dialect, which JSON Schema uses. Also accepts leading flags, `\A` and `\z`,
// which ECMA-262 refuses and which mean the same in all other dialects. Refuses unknown or inexpressible syntax with
// its position, and ignores nothing.
import { limitExceeded } from "./limits.ts";
import type { GrammarLimits, StepBudget } from "./limits.ts";
import { readCharacterClass, readClassEscape } from "./characters/character-class.ts";
import type { ClassSource } from "./characters/character-class.ts";
import { inEitherCase } from "./characters/letter-case.ts";
import {
  allCharacters,
  intersectPoints,
  lineEnds,
  complementPoints,
  wordCharacters,
} from "./characters/code-points.ts";
import type { CodePoints } from "./characters/code-points.ts";
import { textStart } from "./pattern.ts";
import type { Pattern } from "./pattern.ts";
import { Reader } from "./reader.ts";

/** Maximum repetition count. */
const repetitionsMax = 10_000;

/** Parsing costs one step per four characters. */
const charactersPerStepLog2 = 2;

/** Limits and step budget for parsing. */
export interface PatternEffort {
  readonly limits: GrammarLimits;
  readonly budget: StepBudget;
}

/** Options that depend on the kind of constraint that contains the pattern. */
export interface PatternStyle {
  /** Characters that `.` does not match; ignored with the flag s. */
  readonly lineEnds: CodePoints;
  readonly isDotAll: boolean;
  readonly ignoresCase: boolean;
  /** True if `^` and `$` match at line ends, false if only at the ends of the text. */
  readonly isMultiline: boolean;
  /** True to accept lazy quantifiers. They do not affect a match of the whole text. */
  readonly mayBeLazy: boolean;
}

const ecmaScript: PatternStyle = {
  lineEnds,
  isDotAll: false,
  ignoresCase: false,
  isMultiline: false,
  mayBeLazy: true,
};

/**
 * Parses a pattern.
 *
 * @param place location of the pattern, named in refusals
 * @throws ConstraintRefusal if the pattern is malformed or cannot be expressed exactly
 */
export function parsePattern(
  text: string,
  { limits, budget }: PatternEffort,
  place = "",
  style: PatternStyle = ecmaScript,
): Pattern {
  // Charges the steps before parsing, so that a thread with a small budget gives up immediately.
  budget.spend(text.length >>> charactersPerStepLog2);
  const reader = new Reader(text, place);
  const source = { reader, limits, budget, style: styleAtStart(reader, style), folded: new Map() };
  const pattern = readChoice(source, 0);
  if (!reader.isAtEnd) throw reader.malformed("an unmatched )");
  return pattern;
}

interface Source {
  readonly reader: Reader;
  readonly limits: GrammarLimits;
  readonly budget: StepBudget;
  readonly style: PatternStyle;
  /** Character sets with both cases added, by the original set. */
  readonly folded: Map<string, CodePoints>;
}

/** Parses flags for the whole pattern, such as `(?i)`. The flag `u` is always on. */
function styleAtStart(reader: Reader, style: PatternStyle): PatternStyle {
  const flags = reader.match(/\(\?([imsu]+)\)/y)?.[1];
  return flags === undefined ? style : withFlags(style, flags, "");
}

function readChoice(source: Source, depth: number): Pattern {
  const { reader, limits } = source;
  if (depth > limits.nesting) throw limitExceeded("nesting", limits.nesting, reader.place);
  const options = [readSequence(source, depth)];
  while (reader.skip("|")) options.push(readSequence(source, depth));
  return options.length === 1 ? options[0] : { kind: "choice", parts: options };
}

function readSequence(source: Source, depth: number): Pattern {
  const { reader } = source;
  const parts: Pattern[] = [];
  while (!reader.isAtEnd && !reader.sees("|") && !reader.sees(")")) {
    parts.push(readQuantified(source, readTerm(source, depth)));
  }
  return parts.length === 1 ? parts[0] : { kind: "sequence", parts };
}

function readTerm(source: Source, depth: number): Pattern {
  const { reader, style } = source;
  const fold = (set: CodePoints) => folded(source, set);
  const classes = { reader, budget: source.budget, fold };
  if (reader.skip("(")) return readGroup(source, depth);
  if (reader.skip("^")) return style.isMultiline ? lineStart(style) : textStart;
  if (reader.skip("$")) return style.isMultiline ? lineEnd(style) : { kind: "end" };
  if (reader.skip(".")) return { kind: "character", set: dot(style) };
  if (reader.skip("[")) return { kind: "character", set: readCharacterClass(classes) };
  if (reader.skip("\\")) return readEscape(classes);
  if (reader.sees("*") || reader.sees("+") || reader.sees("?")) throw reader.malformed("nothing to repeat");
  const point = reader.take().codePointAt(0) ?? 0;
  return { kind: "character", set: fold([point, point]) };
}

function folded({ style, limits, budget, folded: known }: Source, set: CodePoints): CodePoints {
  if (!style.ignoresCase) return set;
  const key = set.join(",");
  const found = known.get(key) ?? inEitherCase(set, budget);
  if (known.size >= limits.alternatives * 8) throw limitExceeded("alternatives", limits.alternatives);
  known.set(key, found);
  return found;
}

const dot = (style: PatternStyle): CodePoints =>
  style.isDotAll ? allCharacters : intersectPoints(allCharacters, complementPoints(style.lineEnds));

function readGroup(source: Source, depth: number): Pattern {
  const { reader } = source;
  const start = reader.position - 1;
  const look = reader.match(/\?(<?)([=!])/y);
  const style = look === null ? readModifiers(source) : null;
  if (look === null && style === null && reader.skip("?")) readGroupName(reader, start);
  const part = readChoice({ ...source, style: style ?? source.style }, depth + 1);
  if (!reader.skip(")")) throw reader.malformed("an unclosed group", start);
  if (look === null) return part;
  const [, backwards, sign] = look;
  const isNegative = sign === "!";
  if (backwards === "") return { kind: "look", part, isNegative };
  const behind = characterBehind(part, isNegative);
  if (behind === null) throw reader.notExact("a look-behind of more than one character", start);
  return behind;
}

/** Returns a look-behind that examines one character; null if the subpattern needs more than one. */
function characterBehind(part: Pattern, isNegative: boolean): Pattern | null {
  if (part.kind === "choice") {
    const parts = part.parts.map((option) => characterBehind(option, isNegative));
    const found = parts.filter((option) => option !== null);
    if (found.length < parts.length) return null;
    return { kind: isNegative ? "sequence" : "choice", parts: found };
  }
  if (part.kind === "behind") return isNegative ? otherBehind(part) : part;
  return part.kind === "character" ? behind(part.set, isNegative) : null;
}

/** Parses modifiers such as `?:`, `?i:` or `?s-i:`; returns null if there are none. */
function readModifiers({ reader, style }: Source): PatternStyle | null {
  const match = reader.match(/\?([ims]*)(?:-([ims]+))?:/y);
  if (match === null) return null;
  const [, added, removed = ""] = match;
  return withFlags(style, added, removed);
}

function withFlags(style: PatternStyle, added: string, removed: string): PatternStyle {
  const isOn = (flag: string, before: boolean) => added.includes(flag) || (before && !removed.includes(flag));
  return {
    ...style,
    isDotAll: isOn("s", style.isDotAll),
    ignoresCase: isOn("i", style.ignoresCase),
    isMultiline: isOn("m", style.isMultiline),
  };
}

const lineStart = (style: PatternStyle): Pattern => ({ kind: "behind", set: style.lineEnds, orStart: true });

const lineEnd = (style: PatternStyle): Pattern => ({
  kind: "look",
  part: { kind: "choice", parts: [{ kind: "end" }, { kind: "character", set: style.lineEnds }] },
  isNegative: false,
});

/** Skips the name of a named group, written `(?<name>` or, as in Python, `(?P<name>`. */
function readGroupName(reader: Reader, start: number): void {
  if (!reader.skip("P<") && !reader.skip("<")) throw reader.notExact("a group with flags", start);
  while (!reader.skip(">")) reader.take();
}

function readEscape(classes: ClassSource): Pattern {
  const { reader, fold } = classes;
  const start = reader.position - 1;
  if (reader.skip("b")) return wordBoundary(fold(wordCharacters));
  if (reader.skip("B")) return noWordBoundary(fold(wordCharacters));
  // `\A` and `\z`: start and end of the text in Python, Perl and others. ECMA-262 refuses these letters.
  if (reader.skip("A")) return textStart;
  if (reader.skip("z") || reader.skip("Z")) return { kind: "end" };
  if (/[1-9]/.test(reader.peek()) || reader.sees("k<")) throw reader.notExact("a back reference", start);
  return { kind: "character", set: fold(readClassEscape(classes, start)) };
}

function wordBoundary(word: CodePoints): Pattern {
  return {
    kind: "choice",
    parts: [
      { kind: "sequence", parts: [behind(word, false), ahead(word, true)] },
      { kind: "sequence", parts: [behind(word, true), ahead(word, false)] },
    ],
  };
}

function noWordBoundary(word: CodePoints): Pattern {
  return {
    kind: "choice",
    parts: [
      { kind: "sequence", parts: [behind(word, false), ahead(word, false)] },
      { kind: "sequence", parts: [behind(word, true), ahead(word, true)] },
    ],
  };
}

/**
 * Matches if the previous character is in the set. If negative, matches if it is not in the set or there is no
 * previous character.
 */
function behind(set: CodePoints, isNegative: boolean): Pattern {
  const place = { kind: "behind", set, orStart: false } as const;
  return isNegative ? otherBehind(place) : place;
}

const otherBehind = ({ set, orStart }: { readonly set: CodePoints; readonly orStart: boolean }): Pattern => ({
  kind: "behind",
  set: intersectPoints(allCharacters, complementPoints(set)),
  orStart: !orStart,
});

const ahead = (set: CodePoints, isNegative: boolean): Pattern => ({
  kind: "look",
  part: { kind: "character", set },
  isNegative,
});

function readQuantified({ reader, style }: Source, part: Pattern): Pattern {
  const start = reader.position;
  const bounds = readBounds(reader);
  if (bounds === null) return part;
  if (part.kind === "behind" || part.kind === "end" || part.kind === "look")
    throw reader.notExact("a repeated assertion", start);
  if (reader.sees("?") && !style.mayBeLazy) throw reader.notExact("a lazy quantifier", reader.position);
  // A lazy quantifier needs no special treatment, since laziness affects only captures.
  if (!reader.skip("?") && reader.sees("+"))
    throw reader.notExact("a possessive quantifier", reader.position);
  if (reader.sees("*")) throw reader.malformed("nothing to repeat");
  const [min, max] = bounds;
  if (min > max) throw reader.malformed("a quantifier whose bounds are out of order", start);
  if (min > repetitionsMax || (max > repetitionsMax && max !== Number.POSITIVE_INFINITY)) {
    throw reader.notExact(`a quantifier of more than ${repetitionsMax} repetitions`, start);
  }
  return { kind: "repeat", part, min, max };
}

function readBounds(reader: Reader): readonly [number, number] | null {
  if (reader.skip("*")) return [0, Number.POSITIVE_INFINITY];
  if (reader.skip("+")) return [1, Number.POSITIVE_INFINITY];
  if (reader.skip("?")) return [0, 1];
  // As in browsers, a brace that does not start a quantifier is literal.
  const braces = reader.match(/\{(\d+)(?:(,)(\d*))?\}/y);
  if (braces === null) return null;
  const [, least, comma, most] = braces;
  if (comma === undefined) return [Number(least), Number(least)];
  return [Number(least), most === "" || most === undefined ? Number.POSITIVE_INFINITY : Number(most)];
}

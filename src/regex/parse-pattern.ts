// Reads regular expressions in the dialect of ECMA-262 that JSON Schema asks for. What a derivative cannot express
// exactly, or what this reader does not know, is refused with its position; nothing is skipped.
import { limitExceeded } from "./limits.ts";
import type { GrammarLimits } from "./limits.ts";
import { readCharacterClass, readClassEscape } from "./character-class.ts";
import type { Fold } from "./character-class.ts";
import { inEitherCase } from "./letter-case.ts";
import { allCharacters, commonPoints, lineEnds, otherPoints } from "./code-points.ts";
import type { CodePoints } from "./code-points.ts";
import type { Pattern } from "./pattern.ts";
import { Reader } from "./reader.ts";

/** Repetitions beyond this are refused. */
const repetitionsMax = 10_000;

/** What may differ between the places where patterns stand. */
export interface PatternStyle {
  /** What `.` does not stand for; none with the flag s. */
  readonly lineEnds: CodePoints;
  readonly isDotAll: boolean;
  readonly ignoresCase: boolean;
  /** Whether a quantifier may ask for the shortest match, which says nothing of a whole text. */
  readonly mayBeLazy: boolean;
}

const ecmaScript: PatternStyle = {
  lineEnds,
  isDotAll: false,
  ignoresCase: false,
  mayBeLazy: true,
};

/**
 * @param place what the refusal calls the place of the pattern
 * @throws ConstraintRefusal for what is malformed or not expressed exactly
 */
export function parsePattern(
  text: string,
  limits: GrammarLimits,
  place = "",
  style: PatternStyle = ecmaScript,
): Pattern {
  const reader = new Reader(text, place);
  const pattern = readChoice({ reader, limits, style, folded: new Map() }, 0);
  if (!reader.isAtEnd) throw reader.malformed("an unmatched )");
  return pattern;
}

interface Source {
  readonly reader: Reader;
  readonly limits: GrammarLimits;
  readonly style: PatternStyle;
  /** The sets whose other case was sought, with it. */
  readonly folded: Map<string, CodePoints>;
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
  if (reader.skip("(")) return readGroup(source, depth);
  if (reader.skip("^")) return { kind: "start" };
  if (reader.skip("$")) return { kind: "end" };
  if (reader.skip(".")) return { kind: "character", set: dot(style) };
  if (reader.skip("[")) return { kind: "character", set: readCharacterClass(reader, fold) };
  if (reader.skip("\\")) return readEscape(reader, fold);
  if (reader.sees("*") || reader.sees("+") || reader.sees("?")) throw reader.malformed("nothing to repeat");
  const point = reader.take().codePointAt(0) ?? 0;
  return { kind: "character", set: fold([point, point]) };
}

function folded({ style, limits, folded: known }: Source, set: CodePoints): CodePoints {
  if (!style.ignoresCase) return set;
  const key = set.join(",");
  const found = known.get(key) ?? inEitherCase(set);
  if (known.size >= limits.alternatives * 8) throw limitExceeded("alternatives", limits.alternatives);
  known.set(key, found);
  return found;
}

const dot = (style: PatternStyle): CodePoints =>
  style.isDotAll ? allCharacters : commonPoints(allCharacters, otherPoints(style.lineEnds));

function readGroup(source: Source, depth: number): Pattern {
  const { reader } = source;
  const start = reader.position - 1;
  const look = reader.skip("?=") ? "ahead" : reader.skip("?!") ? "not ahead" : null;
  if (look === null && (reader.sees("?<=") || reader.sees("?<!"))) {
    throw reader.notExact("a look-behind", start);
  }
  const style = look === null ? readModifiers(source) : null;
  if (look === null && style === null && reader.skip("?")) readGroupName(reader, start);
  const part = readChoice({ ...source, style: style ?? source.style }, depth + 1);
  if (!reader.skip(")")) throw reader.malformed("an unclosed group", start);
  return look === null ? part : { kind: "look", part, isNegative: look === "not ahead" };
}

/** Reads `?:`, `?i:`, `?s-i:` and the like; null where none stands. */
function readModifiers({ reader, style }: Source): PatternStyle | null {
  const match = reader.match(/\?([is]*)(?:-([is]+))?:/y);
  if (match === null) return null;
  const [, added, removed = ""] = match;
  const isOn = (flag: string, before: boolean) => added.includes(flag) || (before && !removed.includes(flag));
  return { ...style, isDotAll: isOn("s", style.isDotAll), ignoresCase: isOn("i", style.ignoresCase) };
}

/** Skips the name of a named group, as `(?<name>` or Python's `(?P<name>`. */
function readGroupName(reader: Reader, start: number): void {
  if (!reader.skip("P<") && !reader.skip("<")) throw reader.notExact("a group with flags", start);
  while (!reader.skip(">")) reader.take();
}

function readEscape(reader: Reader, fold: Fold): Pattern {
  const start = reader.position - 1;
  if (reader.skip("b") || reader.skip("B")) throw reader.notExact("a word boundary", start);
  if (/[1-9]/.test(reader.peek()) || reader.sees("k<")) throw reader.notExact("a back reference", start);
  return { kind: "character", set: fold(readClassEscape(reader, start, fold)) };
}

function readQuantified({ reader, style }: Source, part: Pattern): Pattern {
  const start = reader.position;
  const bounds = readBounds(reader);
  if (bounds === null) return part;
  if (part.kind === "start" || part.kind === "end" || part.kind === "look")
    throw reader.notExact("a repeated assertion", start);
  if (reader.sees("?") && !style.mayBeLazy) throw reader.notExact("a lazy quantifier", reader.position);
  // Whether a match is sought greedily changes only what is captured.
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
  // A brace that starts no quantifier stands for itself, as browsers take it.
  const braces = reader.match(/\{(\d+)(?:(,)(\d*))?\}/y);
  if (braces === null) return null;
  const [, least, comma, most] = braces;
  if (comma === undefined) return [Number(least), Number(least)];
  return [Number(least), most === "" || most === undefined ? Number.POSITIVE_INFINITY : Number(most)];
}

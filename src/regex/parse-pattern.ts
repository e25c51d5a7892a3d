// Reads regular expressions in the dialect of ECMA-262 that JSON Schema asks for. What a derivative cannot express
// exactly, or what this reader does not know, is refused with its position; nothing is skipped.
import { limitExceeded } from "./limits.ts";
import type { GrammarLimits } from "./limits.ts";
import { readCharacterClass, readClassEscape } from "./character-class.ts";
import { allCharacters, commonPoints, lineEnds, otherPoints } from "./code-points.ts";
import type { CodePoints } from "./code-points.ts";
import type { Pattern } from "./pattern.ts";
import { Reader } from "./reader.ts";

/** Repetitions beyond this are refused. */
const repetitionsMax = 10_000;

const anyButLineEnds: CodePoints = commonPoints(allCharacters, otherPoints(lineEnds));

/**
 * @param place what the refusal calls the place of the pattern
 * @throws ConstraintRefusal for what is malformed or not expressed exactly
 */
export function parsePattern(text: string, limits: GrammarLimits, place = ""): Pattern {
  const reader = new Reader(text, place);
  const pattern = readChoice(reader, limits, 0);
  if (!reader.isAtEnd) throw reader.malformed("an unmatched )");
  return pattern;
}

function readChoice(reader: Reader, limits: GrammarLimits, depth: number): Pattern {
  if (depth > limits.nesting) throw limitExceeded("nesting", limits.nesting, reader.place);
  const options = [readSequence(reader, limits, depth)];
  while (reader.skip("|")) options.push(readSequence(reader, limits, depth));
  return options.length === 1 ? options[0] : { kind: "choice", parts: options };
}

function readSequence(reader: Reader, limits: GrammarLimits, depth: number): Pattern {
  const parts: Pattern[] = [];
  while (!reader.isAtEnd && !reader.sees("|") && !reader.sees(")")) {
    parts.push(readQuantified(reader, readTerm(reader, limits, depth)));
  }
  return parts.length === 1 ? parts[0] : { kind: "sequence", parts };
}

function readTerm(reader: Reader, limits: GrammarLimits, depth: number): Pattern {
  if (reader.skip("(")) return readGroup(reader, limits, depth);
  if (reader.skip("^")) return { kind: "start" };
  if (reader.skip("$")) return { kind: "end" };
  if (reader.skip(".")) return { kind: "character", set: anyButLineEnds };
  if (reader.skip("[")) return { kind: "character", set: readCharacterClass(reader) };
  if (reader.skip("\\")) return readEscape(reader);
  if (reader.sees("*") || reader.sees("+") || reader.sees("?")) throw reader.malformed("nothing to repeat");
  return literal(reader.take());
}

function readGroup(reader: Reader, limits: GrammarLimits, depth: number): Pattern {
  const start = reader.position - 1;
  const look = reader.skip("?=") ? "ahead" : reader.skip("?!") ? "not ahead" : null;
  if (look === null && (reader.sees("?<=") || reader.sees("?<!"))) {
    throw reader.notExact("a look-behind", start);
  }
  if (look === null && !reader.skip("?:") && reader.skip("?")) readGroupName(reader, start);
  const part = readChoice(reader, limits, depth + 1);
  if (!reader.skip(")")) throw reader.malformed("an unclosed group", start);
  return look === null ? part : { kind: "look", part, isNegative: look === "not ahead" };
}

/** Skips the name of a named group, as `(?<name>` or Python's `(?P<name>`. */
function readGroupName(reader: Reader, start: number): void {
  if (!reader.skip("P<") && !reader.skip("<")) throw reader.notExact("a group with flags", start);
  while (!reader.skip(">")) reader.take();
}

function readEscape(reader: Reader): Pattern {
  const start = reader.position - 1;
  if (reader.skip("b") || reader.skip("B")) throw reader.notExact("a word boundary", start);
  if (/[1-9]/.test(reader.peek()) || reader.sees("k<")) throw reader.notExact("a back reference", start);
  return { kind: "character", set: readClassEscape(reader, start) };
}

function literal(character: string): Pattern {
  const point = character.codePointAt(0) ?? 0;
  return { kind: "character", set: [point, point] };
}

function readQuantified(reader: Reader, part: Pattern): Pattern {
  const start = reader.position;
  const bounds = readBounds(reader);
  if (bounds === null) return part;
  if (part.kind === "start" || part.kind === "end" || part.kind === "look")
    throw reader.notExact("a repeated assertion", start);
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

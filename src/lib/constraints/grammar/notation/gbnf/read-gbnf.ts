// Parses GBNF, llama.cpp's grammar notation: `name ::= "text" [class] . (group) other*`, with the start rule `root`.
// Lines may break anywhere. References to tokens, which newer versions of GBNF support, are refused.
import { limitExceeded } from "../../../regex/limits.ts";
import type { GrammarLimits } from "../../../regex/limits.ts";
import {
  allCharacters,
  intersectPoints,
  complementPoints,
  unionPoints,
} from "../../../regex/characters/code-points.ts";
import type { CodePoints } from "../../../regex/characters/code-points.ts";
import { Reader } from "../../../regex/reader.ts";
import { literalNode } from "../grammar-text.ts";
import type { GrammarNode, GrammarText } from "../grammar-text.ts";
import { readBounds, repeated } from "../repetition.ts";

const ruleStart = /([A-Za-z0-9_][\w.-]*)[ \t]*::=/y;
const ruleName = /[A-Za-z0-9_][\w.-]*/y;
const blanks = /(?:\s|#[^\n]*)*/y;

/**
 * Parses a grammar in GBNF.
 *
 * @throws ConstraintRefusal for malformed or unsupported GBNF, with its position
 */
export function readGbnf(text: string, limits: GrammarLimits): GrammarText {
  const reader = new Reader(text, "", "grammar");
  const rules = new Map<string, GrammarNode>();
  reader.match(blanks);
  while (!reader.isAtEnd) {
    const start = reader.position;
    const name = reader.match(ruleStart)?.[1];
    if (name === undefined) throw reader.malformed("no rule");
    if (rules.has(name)) throw reader.malformed(`a second rule ${name}`, start);
    rules.set(name, readChoice(reader, limits, 0));
  }
  if (!rules.has("root")) throw reader.malformed("no rule root");
  return { rules, root: "root" };
}

function readChoice(reader: Reader, limits: GrammarLimits, depth: number): GrammarNode {
  if (depth > limits.nesting) throw limitExceeded("nesting", limits.nesting);
  const options = [readSequence(reader, limits, depth)];
  while (reader.skip("|")) options.push(readSequence(reader, limits, depth));
  return options.length === 1 ? options[0] : { kind: "choice", parts: options };
}

function readSequence(reader: Reader, limits: GrammarLimits, depth: number): GrammarNode {
  const parts: GrammarNode[] = [];
  for (;;) {
    reader.match(blanks);
    if (reader.isAtEnd || reader.sees("|") || reader.sees(")") || startsRule(reader)) break;
    parts.push(readRepeated(reader, readTerm(reader, limits, depth)));
  }
  return parts.length === 1 ? parts[0] : { kind: "sequence", parts };
}

function startsRule(reader: Reader): boolean {
  const { position } = reader;
  const starts = reader.match(ruleStart) !== null;
  reader.position = position;
  return starts;
}

function readTerm(reader: Reader, limits: GrammarLimits, depth: number): GrammarNode {
  const { position } = reader;
  if (reader.skip('"')) return readLiteral(reader, position);
  if (reader.skip("[")) return { kind: "character", set: readClass(reader, position) };
  if (reader.skip(".")) return { kind: "character", set: allCharacters };
  if (reader.sees("(="))
    throw reader.notExact("a look-ahead", position, "It only makes XGrammar faster: leave it out");
  if (reader.skip("(")) {
    const group = readChoice(reader, limits, depth + 1);
    reader.match(blanks);
    if (!reader.skip(")")) throw reader.malformed("an unclosed group", position);
    return group;
  }
  if (reader.sees("<") || reader.sees("!<"))
    throw reader.notExact("a token by name", position, "Constraints apply to text: write the token's text");
  const name = reader.match(ruleName)?.[0];
  if (name === undefined) throw reader.malformed(`an unexpected ${reader.peek()}`);
  return { kind: "rule", name, position };
}

function readLiteral(reader: Reader, start: number): GrammarNode {
  let text = "";
  while (!reader.skip('"')) {
    if (reader.isAtEnd || reader.sees("\n")) throw reader.malformed("an unclosed text", start);
    text += String.fromCodePoint(readCharacter(reader));
  }
  return literalNode(text);
}

function readClass(reader: Reader, start: number): CodePoints {
  const isNegated = reader.skip("^");
  const members: CodePoints[] = [];
  while (!reader.skip("]")) {
    if (reader.isAtEnd) throw reader.malformed("an unclosed class", start);
    const low = readCharacter(reader);
    const isRange = reader.sees("-") && !reader.sees("-]") && reader.skip("-");
    const high = isRange ? readCharacter(reader) : low;
    if (high < low) throw reader.malformed("a range whose ends are out of order", start);
    members.push([low, high]);
  }
  const set = unionPoints(...members);
  return intersectPoints(isNegated ? complementPoints(set) : set, allCharacters);
}

const escapes: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9 };

function readCharacter(reader: Reader): number {
  const start = reader.position;
  if (!reader.skip("\\")) return reader.take().codePointAt(0) ?? 0;
  const hexadecimal = reader.match(/x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})/y);
  if (hexadecimal !== null) {
    const point = Number.parseInt(hexadecimal.slice(1).find((digits) => digits !== undefined) ?? "", 16);
    if (point > 0x10ffff) throw reader.malformed("an escape beyond the last character", start);
    return point;
  }
  const letter = reader.take();
  if (escapes[letter] === undefined && /[A-Za-z0-9]/.test(letter))
    throw reader.malformed(`the unknown escape \\${letter}`, start);
  return escapes[letter] ?? letter.codePointAt(0) ?? 0;
}

function readRepeated(reader: Reader, part: GrammarNode): GrammarNode {
  const start = reader.position;
  const bounds = readBounds(reader);
  return bounds === null ? part : readRepeated(reader, repeated(reader, part, bounds, start));
}

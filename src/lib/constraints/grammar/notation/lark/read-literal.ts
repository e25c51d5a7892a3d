// Parses the literals of Lark's notation: strings, ranges of characters, regular expressions and JSON.
import { parseExactJson } from "../../../../../base/domain/text/exact-json.ts";
import type { ExactJson } from "../../../../../base/domain/text/exact-json.ts";
import { allCharacters, intersectPoints } from "../../../regex/characters/code-points.ts";
import { inEitherCase } from "../../../regex/characters/letter-case.ts";
import { parsePattern, type PatternEffort } from "../../../regex/parse-pattern.ts";
import { hasAssertion } from "../../../regex/pattern.ts";
import type { Reader } from "../../../regex/reader.ts";
import type { GrammarNode } from "../grammar-text.ts";

/** Reads `"text"`, `"text"i` or `"a".."z"`; returns null if there is no string. */
export function readStringOrRange(reader: Reader, { budget }: PatternEffort): GrammarNode | null {
  const { position } = reader;
  const text = readString(reader);
  if (text === null) return null;
  if (reader.match(/[ \t]*\.\.[ \t]*/y) !== null) {
    const [low, high] = [text, readString(reader) ?? ""].map((end) => Array.from(end));
    if (low.length !== 1 || high.length !== 1)
      throw reader.malformed("a range whose ends are not one character each", position);
    const [first, last] = [low[0].codePointAt(0) ?? 0, high[0].codePointAt(0) ?? 0];
    if (first > last) throw reader.malformed("a range whose ends are out of order", position);
    return { kind: "character", set: intersectPoints([first, last], allCharacters) };
  }
  const ignoresCase = reader.match(/i\b/y) !== null;
  const parts = Array.from(text, (character): GrammarNode => {
    const point = character.codePointAt(0) ?? 0;
    return { kind: "character", set: ignoresCase ? inEitherCase([point, point], budget) : [point, point] };
  });
  return { kind: "sequence", parts };
}

const strings = /"((?:[^"\\\n]|\\[^\n])*)"|'((?:[^'\\\n]|\\[^\n])*)'/y;
const escapes = /\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|u\{([0-9A-Fa-f]+)\}|([^]))/g;
const escapedCharacters: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  f: "\f",
  v: "\v",
  "\\": "\\",
  "/": "/",
  '"': '"',
  "'": "'",
};

function readString(reader: Reader): string | null {
  const { position } = reader;
  const match = reader.match(strings);
  if (match === null) {
    if (reader.sees('"') || reader.sees("'")) throw reader.malformed("an unclosed text", position);
    return null;
  }
  const text = (match[1] ?? match[2] ?? "").replace(escapes, (whole: string, ...groups: unknown[]) => {
    const [x, u, U, braces, letter] = groups;
    const digits = [x, u, U, braces].find((one) => typeof one === "string");
    if (typeof digits === "string") return characterOf(reader, Number.parseInt(digits, 16), position);
    const character = escapedCharacters[String(letter)];
    if (character === undefined) throw reader.malformed(`the unknown escape ${whole}`, position);
    return character;
  });
  if (/\p{Surrogate}/u.test(text)) throw reader.malformed("half a surrogate pair", position);
  return text;
}

function characterOf(reader: Reader, point: number, position: number): string {
  if (point > 0x10ffff) throw reader.malformed("an escape beyond the last character", position);
  return String.fromCodePoint(point);
}

/** Reads `/pattern/flags`; returns null if there is no regular expression. */
export function readRegularExpression(reader: Reader, effort: PatternEffort): GrammarNode | null {
  const { position } = reader;
  const match = reader.match(/\/((?:[^/\\\n]|\\[^\n])+)\/([a-z]*)/y);
  if (match === null) {
    if (reader.sees("/")) throw reader.malformed("an unclosed regular expression");
    return null;
  }
  const [, source, flags] = match;
  const unknown = /[^isu]/.exec(flags)?.[0];
  if (unknown !== undefined) throw reader.notExact(`a regular expression with the flag ${unknown}`, position);
  const pattern = parsePattern(source, effort, `position ${position}`, {
    lineEnds: [0x0a, 0x0a],
    isDotAll: flags.includes("s"),
    ignoresCase: flags.includes("i"),
    isMultiline: false,
    // In Lark, a lazy terminal ends at its first match, regardless of the text after it. A set of texts cannot express
    // this.
    mayBeLazy: false,
  });
  // An assertion would inspect text outside the terminal.
  if (hasAssertion(pattern)) throw reader.notExact("an anchor or a look-ahead in a terminal", position);
  return { kind: "pattern", pattern };
}

/**
 * Reads a JSON object.
 *
 * @param start position that refusals name
 */
export function readJson(reader: Reader, start: number): ExactJson {
  let text = "";
  let depth = 0;
  do {
    const piece = reader.match(/[^"{}]+|"(?:[^"\\]|\\.)*"|[{}]/y)?.[0];
    if (piece === undefined || (text === "" && piece !== "{"))
      throw reader.malformed("no JSON object", start);
    if (piece === "{") depth += 1;
    if (piece === "}") depth -= 1;
    text += piece;
  } while (depth > 0);
  try {
    return parseExactJson(text);
  } catch {
    throw reader.malformed("no JSON object", start);
  }
}

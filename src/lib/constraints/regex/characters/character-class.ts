// Reads character classes of regular expressions: bracketed classes, and escapes that stand for a class.
import {
  allCharacters,
  intersectPoints,
  digits,
  lastCodePoint,
  complementPoints,
  unionPoints,
  whiteSpace,
  wordCharacters,
} from "./code-points.ts";
import type { CodePoints } from "./code-points.ts";
import type { StepBudget } from "../limits.ts";
import type { Reader } from "../reader.ts";
import { unicodeProperty } from "./unicode-property.ts";

const namedClasses: Readonly<Record<string, CodePoints>> = {
  d: digits,
  D: complementPoints(digits),
  w: wordCharacters,
  s: whiteSpace,
  S: complementPoints(whiteSpace),
};

const controlEscapes: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };

/** Context for reading a class. */
export interface ClassSource {
  readonly reader: Reader;
  readonly budget: StepBudget;
  /**
   * Adds the other-case variants of each character if the pattern ignores case; otherwise returns the set unchanged.
   */
  readonly fold: (set: CodePoints) => CodePoints;
}

/**
 * Other dialects read this as a POSIX class within a bracket. ECMA-262 reads it as a few letters, which nobody
 * intends, so it is refused.
 */
const posixClass = /\[(?::\^?[a-z]+:|\.[^\].]+\.|=[^\]=]+=)\]/y;

/** Reads a bracketed class after its opening bracket, including the closing bracket. */
export function readCharacterClass(source: ClassSource): CodePoints {
  const { reader, fold } = source;
  const start = reader.position - 1;
  const isNegated = reader.skip("^");
  const members: CodePoints[] = [];
  while (!reader.skip("]")) {
    if (reader.isAtEnd) throw reader.malformed("an unclosed class", start);
    const place = reader.position;
    const posix = reader.match(posixClass)?.[0];
    if (posix !== undefined) throw reader.notExact(`the POSIX class ${posix}`, place);
    const low = readMember(source);
    const dash = reader.position;
    if (!reader.sees("-") || reader.sees("-]")) {
      members.push(low);
      continue;
    }
    reader.take();
    const high = readMember(source);
    // A dash next to a class such as `\w` is literal, as in browsers.
    if (!isSingle(low) || !isSingle(high)) members.push(low, [0x2d, 0x2d], high);
    else if (low[0] > high[0]) throw reader.malformed("a range whose ends are out of order", dash);
    else members.push([low[0], high[0]]);
  }
  const set = fold(unionPoints(...members));
  return intersectPoints(isNegated ? complementPoints(set) : set, allCharacters);
}

const isSingle = (set: CodePoints): boolean => set.length === 2 && set[0] === set[1];

function readMember(source: ClassSource): CodePoints {
  const { reader } = source;
  if (reader.isAtEnd) throw reader.malformed("an unclosed class");
  const start = reader.position;
  if (!reader.skip("\\")) return single(reader.take().codePointAt(0) ?? 0);
  if (reader.skip("b")) return single(8);
  return readClassEscape(source, start);
}

/**
 * Reads an escape that stands for one or more characters, after its backslash.
 *
 * @param start position of the backslash
 */
export function readClassEscape(source: ClassSource, start: number): CodePoints {
  const { reader, fold } = source;
  const letter = reader.take();
  // With case ignored, a character whose other case is a word character also counts as a word character.
  if (letter === "W") return intersectPoints(complementPoints(fold(wordCharacters)), allCharacters);
  const named = namedClasses[letter];
  if (named !== undefined) return intersectPoints(named, allCharacters);
  if (letter === "p" || letter === "P") return readProperty(source, letter === "P", start);
  if (letter === "0" && /\d/.test(reader.peek())) throw reader.notExact("an octal escape", start);
  const control = controlEscapes[letter];
  if (control !== undefined) return single(control);
  if (letter === "x") return single(hexadecimal(reader, /([0-9A-Fa-f]{2})/y, start));
  if (letter === "u") return single(readUnicodeEscape(reader, start));
  if (letter === "c") return single(readControlLetter(reader, start));
  // Letters and digits can have a special meaning in other dialects, so they are refused. Any other escaped character
  // is literal.
  if (/[A-Za-z0-9]/.test(letter)) throw reader.notExact(`the escape \\${letter}`, start);
  return single(letter.codePointAt(0) ?? 0);
}

const single = (point: number): CodePoints => [point, point];

function readControlLetter(reader: Reader, start: number): number {
  const letter = reader.match(/[A-Za-z]/y)?.[0];
  if (letter === undefined) throw reader.malformed("an incomplete escape", start);
  return letter.charCodeAt(0) % 32;
}

function readUnicodeEscape(reader: Reader, start: number): number {
  if (reader.sees("{")) {
    const point = hexadecimal(reader, /\{([0-9A-Fa-f]+)\}/y, start);
    if (point > lastCodePoint) throw reader.malformed("an escape beyond the last character", start);
    return point;
  }
  const unit = hexadecimal(reader, /([0-9A-Fa-f]{4})/y, start);
  if (unit < 0xd800 || unit > 0xdbff) return unit;
  const low = reader.match(/\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})/y);
  if (low === null) throw reader.notExact("a lone surrogate", start);
  return 0x10000 + (unit - 0xd800) * 0x400 + (Number.parseInt(low[1], 16) - 0xdc00);
}

function hexadecimal(reader: Reader, expression: RegExp, start: number): number {
  const match = reader.match(expression);
  if (match === null) throw reader.malformed("an incomplete escape", start);
  return Number.parseInt(match[1], 16);
}

function readProperty({ reader, budget }: ClassSource, isNegated: boolean, start: number): CodePoints {
  const name = reader.match(/\{([\w=]+)\}/y)?.[1];
  if (name === undefined) throw reader.malformed("a property without a name", start);
  const set = unicodeProperty(name, budget);
  if (set === null) throw reader.notExact(`the property ${name}`, start);
  return isNegated ? intersectPoints(complementPoints(set), allCharacters) : set;
}

// Tracks which texts of a list the body of a JSON string may still denote, whether written literally or with any
// escape (RFC 8259, section 7). Tracking ends at the first byte that differs from all of them.
import { bytesOf, membersOf } from "./byte-set.ts";
import type { ByteSet } from "./byte-set.ts";
import { endsHere, nextBytes, textRange, textsAfter } from "./text-list.ts";
import type { TextRange } from "./text-list.ts";

/** The listed texts that are still possible, and the part of an escape already written for their next character. */
export interface StringMatch {
  readonly range: TextRange;
  /** Part of an escape written so far, in lower case; empty between two characters and inside a literal one. */
  readonly escape: string;
}

/** Returns the state before the first byte; null if no text can occur in a JSON string, as with a lone surrogate. */
export function startMatch(texts: readonly string[]): StringMatch | null {
  const written = texts.filter((text) => !/\p{Surrogate}/u.test(text));
  return written.length === 0 ? null : { range: textRange(written), escape: "" };
}

/** True if the string denotes one of the texts when it ends here. */
export const denotesText = ({ range, escape }: StringMatch): boolean => escape === "" && endsHere(range);

/** Returns a number of bytes greater than the remaining length of each text, if the text is written without escapes. */
export const maxLengthBound = ({ range: { texts, from, to, depth } }: StringMatch): number =>
  texts.slice(from, to).reduce((most, { length }) => Math.max(most, length), 0) - depth + 1;

/** Returns the state after a valid byte; null if the string can no longer denote any of the texts. */
export function advanceMatch({ range, escape }: StringMatch, byte: number): StringMatch | null {
  if (escape === "" && byte !== backslash) {
    const rest = textsAfter(range, byte);
    return rest === null ? null : { range: rest, escape: "" };
  }
  const written = escape + String.fromCharCode(byte).toLowerCase();
  const possible = escapesOf(range).filter(([spelling]) => spelling.startsWith(written));
  if (possible.length === 0) return null;
  const whole = possible.find(([spelling]) => spelling === written);
  return whole === undefined ? { range, escape: written } : { range: whole[1], escape: "" };
}

/** Returns the bytes for which `advanceMatch` can have different results. */
export function distinguishingBytes({ range, escape }: StringMatch): ByteSet {
  if (escape === "") return nextBytes(range);
  const letters = escapesOf(range)
    .filter(([spelling]) => spelling.startsWith(escape))
    .map(([spelling]) => spelling[escape.length]);
  return bytesOf(letters.flatMap((one) => [one.charCodeAt(0), one.toUpperCase().charCodeAt(0)]));
}

const backslash = "\\".charCodeAt(0);

const shortEscapes = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["/", "\\/"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** Returns each escape for the texts' next character, with the texts that can follow it. */
function escapesOf(range: TextRange): readonly (readonly [spelling: string, rest: TextRange])[] {
  return membersOf(nextBytes(range)).flatMap((lead) =>
    behindCharacter(range, lead).flatMap((rest) => {
      const { texts, from, depth } = rest;
      const character = Buffer.from(texts[from].slice(range.depth, depth), "latin1").toString("utf8");
      const units = Array.from({ length: character.length }, (_, index) =>
        character.charCodeAt(index).toString(16).padStart(4, "0"),
      );
      const numbered = units.map((unit) => `\\u${unit}`).join("");
      const short = shortEscapes.get(character);
      return (short === undefined ? [numbered] : [numbered, short]).map((one) => [one, rest] as const);
    }),
  );
}

/** Returns the range of texts after each character whose encoding begins with the byte. */
function behindCharacter(range: TextRange, lead: number): readonly TextRange[] {
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  let ranges = rangesAfter(range, [lead]);
  for (let more = 1; more < length; more++)
    ranges = ranges.flatMap((one) => rangesAfter(one, membersOf(nextBytes(one))));
  return ranges;
}

const rangesAfter = (range: TextRange, bytes: readonly number[]): readonly TextRange[] =>
  bytes.flatMap((byte) => textsAfter(range, byte) ?? []);

// What a text between the quotation marks of a JSON string may still mean, of some texts: as itself and with every escape
// (RFC 8259, section 7). What differs from all of them is found at the first byte that differs. Knows no expressions.
import { bytesOf, membersOf } from "./byte-set.ts";
import type { ByteSet } from "./byte-set.ts";
import { endsHere, nextBytes, textRange, textsAfter } from "./text-list.ts";
import type { TextRange } from "./text-list.ts";

/** Texts that may be meant, and what has been written of an escape for the next of their characters. */
export interface Meant {
  readonly range: TextRange;
  /** In lower case; empty between characters, and within one that is written as itself. */
  readonly escape: string;
}

/** Any of the texts, before the first byte; null where none can be written, as those with half of a surrogate pair. */
export function meantOf(texts: readonly string[]): Meant | null {
  const written = texts.filter((text) => !/\p{Surrogate}/u.test(text));
  return written.length === 0 ? null : { range: textRange(written), escape: "" };
}

/** Whether one of them is meant where the text ends. */
export const isMeant = ({ range, escape }: Meant): boolean => escape === "" && endsHere(range);

/** More bytes than any of them still takes, written as itself. */
export const longerThan = ({ range: { texts, from, to, depth } }: Meant): number =>
  texts.slice(from, to).reduce((most, { length }) => Math.max(most, length), 0) - depth + 1;

/** What may be meant behind a byte that a JSON string may have there; null for none of them. */
export function meantAfter({ range, escape }: Meant, byte: number): Meant | null {
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

/** The bytes that matter for what may be meant. */
export function distinguishingBytes({ range, escape }: Meant): ByteSet {
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

/** How the next character of each of the texts can be escaped, and which of them go on behind it. */
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

/** The texts behind each character that begins with the byte. */
function behindCharacter(range: TextRange, lead: number): readonly TextRange[] {
  const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  let ranges = rangesAfter(range, [lead]);
  for (let more = 1; more < length; more++)
    ranges = ranges.flatMap((one) => rangesAfter(one, membersOf(nextBytes(one))));
  return ranges;
}

const rangesAfter = (range: TextRange, bytes: readonly number[]): readonly TextRange[] =>
  bytes.flatMap((byte) => textsAfter(range, byte) ?? []);

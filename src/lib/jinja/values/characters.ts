// Texts as sequences of code points, Python's unit, with Python's definitions of blank and printable characters and of
// line ends.

/** Matches surrogates, which occur in code points of two UTF-16 units. */
const beyondBasic = /[\ud800-\udfff]/;

/** Returns the characters, each as a string. */
export function charactersOf(text: string): readonly string[] {
  return beyondBasic.test(text) ? Array.from(text) : text.split("");
}

export function characterCount(text: string): number {
  return beyondBasic.test(text) ? Array.from(text).length : text.length;
}

/** Converts an index in UTF-16 units to an index in characters. */
export function characterIndex(text: string, place: number): number {
  return place <= 0 || !beyondBasic.test(text) ? place : characterCount(text.slice(0, place));
}

/** Compares by code points; returns a negative number, 0, or a positive number. */
export function compareTexts(left: string, right: string): number {
  if (!beyondBasic.test(left) && !beyondBasic.test(right)) return left < right ? -1 : left > right ? 1 : 0;
  const [ours, theirs] = [Array.from(left), Array.from(right)];
  for (let index = 0; index < ours.length && index < theirs.length; index++) {
    const difference = (ours[index].codePointAt(0) ?? 0) - (theirs[index].codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return ours.length - theirs.length;
}

/** Characters for which `str.isspace` is true, for use in a pattern's brackets. */
export const blank =
  "\\t-\\r\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

const blankOnly = new RegExp(`^[${blank}]+$`);

export function isBlank(text: string): boolean {
  return blankOnly.test(text);
}

/** Returns the number of leading blanks. */
export function leadingBlanks(text: string): number {
  let count = 0;
  while (count < text.length && blankOnly.test(text[count])) count += 1;
  return count;
}

/** Returns the index at which trailing blanks begin. */
export function trailingBlanks(text: string): number {
  let end = text.length;
  while (end > 0 && blankOnly.test(text[end - 1])) end -= 1;
  return end;
}

/** Returns the lines as Python's `str.splitlines` finds them, with their line ends if `keepEnds`. */
export function linesOf(text: string, keepEnds: boolean): readonly string[] {
  // oxlint-disable-next-line no-control-regex -- these end lines in Python
  const ends = /\r\n|[\n\r\v\f\u001c-\u001e\u0085\u2028\u2029]/g;
  const lines: string[] = [];
  let start = 0;
  for (const end of text.matchAll(ends)) {
    lines.push(text.slice(start, keepEnds ? end.index + end[0].length : end.index));
    start = end.index + end[0].length;
  }
  if (start < text.length) lines.push(text.slice(start));
  return lines;
}

const unprintable = /[\p{C}\p{Z}]/u;

export function isPrintable(character: string): boolean {
  return character === " " || !unprintable.test(character);
}

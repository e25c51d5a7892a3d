// Many texts as one sorted list. The texts with a common prefix are a range, found by binary search. Ten thousand
// texts thus cost little, and only followed prefixes become states.
import { bytesOf } from "./byte-set.ts";
import type { ByteSet } from "./byte-set.ts";

/** The suffixes of texts `from` to `to` (exclusive) after their first `depth` bytes, which they share. */
export interface TextRange {
  /** Sorted and unique, with one character per byte. */
  readonly texts: readonly string[];
  readonly from: number;
  readonly to: number;
  readonly depth: number;
}

/** With more texts, the shortest is not searched for. */
const fewTexts = 16;

/** Returns the range of all texts; requires at least one. */
export function textRange(texts: readonly string[]): TextRange {
  const sorted = [...new Set(texts.map((text) => Buffer.from(text, "utf8").toString("latin1")))].sort();
  return { texts: sorted, from: 0, to: sorted.length, depth: 0 };
}

/** True if one of the texts ends here. */
export const endsHere = ({ texts, from, depth }: TextRange): boolean => texts[from].length === depth;

/** Returns a lower bound on the length of the remaining suffixes. */
export function leastLength(range: TextRange): number {
  const { texts, from, to, depth } = range;
  if (endsHere(range)) return 0;
  if (to - from > fewTexts) return 1;
  return (
    texts.slice(from, to).reduce((least, { length }) => Math.min(least, length), Number.POSITIVE_INFINITY) -
    depth
  );
}

/** Returns the texts that continue with the byte; null if there are none. */
export function textsAfter(range: TextRange, byte: number): TextRange | null {
  const { texts, depth } = range;
  const from = firstFrom(range, byte);
  const to = firstFrom({ ...range, from }, byte + 1);
  return from === to ? null : { texts, from, to, depth: depth + 1 };
}

/** Returns the bytes that the texts continue with. */
export function nextBytes(range: TextRange): ByteSet {
  const bytes: number[] = [];
  const { texts, to, depth } = range;
  for (let from = firstFrom(range, 0); from < to;) {
    const byte = texts[from].charCodeAt(depth);
    bytes.push(byte);
    from = firstFrom({ ...range, from }, byte + 1);
  }
  return bytesOf(bytes);
}

/** Returns the first index in the range whose text continues with the byte or a greater one. */
function firstFrom({ texts, from, to, depth }: TextRange, byte: number): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    // NaN after the end of the text that may end here, which is less than any byte.
    if (texts[middle].charCodeAt(depth) >= byte) high = middle;
    else low = middle + 1;
  }
  return low;
}

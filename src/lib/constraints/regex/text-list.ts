// Many texts as one sorted list. Texts with a common prefix form a range, which a binary search finds. Even ten
// thousand texts are cheap, because only the prefixes that are actually read become states.
import { bytesOf } from "./byte-set.ts";
import type { ByteSet } from "./byte-set.ts";

/**
 * The texts from index `from` to `to` (exclusive), which begin with the same `depth` bytes. The range describes what
 * follows these bytes.
 */
export interface TextRange {
  /** Sorted and unique; each character stands for one byte. */
  readonly texts: readonly string[];
  readonly from: number;
  readonly to: number;
  readonly depth: number;
}

/** Maximum number of texts among which `leastLength` searches for the shortest. */
const fewTexts = 16;

/** Returns the range of all texts. There must be at least one text. */
export function textRange(texts: readonly string[]): TextRange {
  const sorted = [...new Set(texts.map((text) => Buffer.from(text, "utf8").toString("latin1")))].sort();
  return { texts: sorted, from: 0, to: sorted.length, depth: 0 };
}

/** True if one of the texts ends at this depth. */
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

/** Returns the texts that continue with the byte; null if no text does. */
export function textsAfter(range: TextRange, byte: number): TextRange | null {
  const { texts, depth } = range;
  const from = firstFrom(range, byte);
  const to = firstFrom({ ...range, from }, byte + 1);
  return from === to ? null : { texts, from, to, depth: depth + 1 };
}

/** Returns the possible next bytes of the texts. */
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

/** Returns the index of the first text in the range that continues with this byte or a greater one. */
function firstFrom({ texts, from, to, depth }: TextRange, byte: number): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    // A text that ends here yields NaN, which compares as less than any byte.
    if (texts[middle].charCodeAt(depth) >= byte) high = middle;
    else low = middle + 1;
  }
  return low;
}

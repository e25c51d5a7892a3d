// Many texts as one sorted list. What follows some first bytes is a range of it, found by halving, so that ten thousand
// texts cost little until they are followed, and only what is followed becomes a state. Knows no expressions.
import { bytesOf } from "./byte-set.ts";
import type { ByteSet } from "./byte-set.ts";

/** The ends of all texts from `from` to before `to`, behind the bytes before `depth`, which they share. */
export interface TextRange {
  /** Sorted, each once, a character for a byte. */
  readonly texts: readonly string[];
  readonly from: number;
  readonly to: number;
  readonly depth: number;
}

/** Of more texts it is not looked for the shortest. */
const fewTexts = 16;

/** The texts as a range, of which there must be one at least. */
export function textRange(texts: readonly string[]): TextRange {
  const sorted = [...new Set(texts.map((text) => Buffer.from(text, "utf8").toString("latin1")))].sort();
  return { texts: sorted, from: 0, to: sorted.length, depth: 0 };
}

/** Whether one of the texts ends here. */
export const endsHere = ({ texts, from, depth }: TextRange): boolean => texts[from].length === depth;

/** How long what is left of the texts is at least. */
export function leastLength(range: TextRange): number {
  const { texts, from, to, depth } = range;
  if (endsHere(range)) return 0;
  if (to - from > fewTexts) return 1;
  return (
    texts.slice(from, to).reduce((least, { length }) => Math.min(least, length), Number.POSITIVE_INFINITY) -
    depth
  );
}

/** What is left of the texts that go on with the byte; null for none. */
export function textsAfter(range: TextRange, byte: number): TextRange | null {
  const { texts, depth } = range;
  const from = firstFrom(range, byte);
  const to = firstFrom({ ...range, from }, byte + 1);
  return from === to ? null : { texts, from, to, depth: depth + 1 };
}

/** The bytes that the texts go on with. */
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

/** Where the texts begin that go on with the byte or a greater one. */
function firstFrom({ texts, from, to, depth }: TextRange, byte: number): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = (low + high) >>> 1;
    // Not a number behind the end of the one text that may end here, which is less than any byte.
    if (texts[middle].charCodeAt(depth) >= byte) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Sets of Unicode code points as sorted, inclusive, non-adjacent ranges: [low, high, low, high, ...].

export type CodePoints = readonly number[];

export const lastCodePoint = 0x10ffff;
/** All characters that UTF-8 text can hold: all code points except surrogates. */
export const allCharacters: CodePoints = [0, 0xd7ff, 0xe000, lastCodePoint];

export function unionPoints(...sets: readonly CodePoints[]): CodePoints {
  const ranges = sets.flatMap(rangesOf).sort((one, other) => one[0] - other[0]);
  const united: number[] = [];
  for (const [low, high] of ranges) {
    const last = united.at(-1);
    if (last !== undefined && low <= last + 1) united[united.length - 1] = Math.max(last, high);
    else united.push(low, high);
  }
  return united;
}

/** Returns the complement of the set. */
export function complementPoints(set: CodePoints): CodePoints {
  const others: number[] = [];
  let next = 0;
  for (const [low, high] of rangesOf(set)) {
    if (low > next) others.push(next, low - 1);
    next = high + 1;
  }
  if (next <= lastCodePoint) others.push(next, lastCodePoint);
  return others;
}

export function intersectPoints(one: CodePoints, other: CodePoints): CodePoints {
  const common: number[] = [];
  for (let [at, otherAt] = [0, 0]; at < one.length && otherAt < other.length;) {
    const low = Math.max(one[at], other[otherAt]);
    const high = Math.min(one[at + 1], other[otherAt + 1]);
    if (low <= high) common.push(low, high);
    // Skips the range that ends first, because it overlaps no further range.
    if (one[at + 1] < other[otherAt + 1]) at += 2;
    else otherAt += 2;
  }
  return common;
}

export function rangesOf(set: CodePoints): readonly (readonly [low: number, high: number])[] {
  return Array.from({ length: set.length / 2 }, (_, index) => [set[index * 2], set[index * 2 + 1]] as const);
}

export function pointsOf(text: string): CodePoints {
  return unionPoints(...Array.from(text, (character) => [codePoint(character), codePoint(character)]));
}

function codePoint(character: string): number {
  return character.codePointAt(0) ?? 0;
}

/** Digits, word characters, white space and line terminators as ECMA-262 defines them. */
export const digits: CodePoints = [0x30, 0x39];
export const wordCharacters: CodePoints = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a];
export const lineEnds: CodePoints = [0x0a, 0x0a, 0x0d, 0x0d, 0x2028, 0x2029];
export const whiteSpace: CodePoints = unionPoints(
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
);

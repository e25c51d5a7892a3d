// Finds the characters that have a Unicode property, from the JavaScript engine's tables. Recently used properties are
// cached, but each use spends the same steps, so one client's requests never change another's budget. Properties of
// strings (flag v) are not supported.
import { allCharacters, intersectPoints } from "./code-points.ts";
import type { CodePoints } from "./code-points.ts";
import type { StepBudget } from "../limits.ts";

/** Steps for finding a property's characters, which was measured to take 1 to 3 ms. */
const stepsPerProperty = 1_000;

/** Cache by property name, most recently used last. */
const kept = new Map<string, CodePoints>();
const keptBytesMax = 512 * 1024;
let keptBytes = 0;
const byteLengthOf = (name: string, set: CodePoints): number => 100 + name.length * 2 + set.length * 8;

/**
 * Returns the characters that `\p{name}` matches; null if there is no such property.
 *
 * @throws ConstraintRefusal if the budget is exhausted
 */
export function unicodeProperty(name: string, budget: StepBudget): CodePoints | null {
  budget.spend(stepsPerProperty);
  const key = name.replace(/^(?:General_Category|gc)=/, "").replace(/^Script(_Extensions)?=/, shortScript);
  const set = kept.get(key) ?? findProperty(key);
  if (set !== null) keep(key, set);
  return set;
}

const shortScript = (_: string, extensions?: string): string => (extensions === undefined ? "sc=" : "scx=");

function keep(name: string, set: CodePoints): void {
  if (!kept.delete(name)) keptBytes += byteLengthOf(name, set);
  kept.set(name, set);
  for (const [oldest, other] of kept) {
    if (keptBytes <= keptBytesMax) return;
    kept.delete(oldest);
    keptBytes -= byteLengthOf(oldest, other);
  }
}

function findProperty(name: string): CodePoints | null {
  const expression = propertyExpression(name);
  if (expression === null) return null;
  const { text, points, ends } = (alike ??= charactersAlike());
  const set: number[] = [];
  for (const { index, 0: run } of text.matchAll(expression)) {
    const [first, last] = [points[index], ends[index + run.length - 1]];
    if (set.at(-1) === first - 1) set[set.length - 1] = last;
    else set.push(first, last);
  }
  return intersectPoints(set, allCharacters);
}

function propertyExpression(name: string): RegExp | null {
  try {
    return new RegExp(`\\p{${name}}+`, "gu");
  } catch {
    return null;
  }
}

/** A text with one character for each run of characters with equal properties. */
interface CharactersAlike {
  readonly text: string;
  /** For each UTF-16 unit of the text: the character it belongs to, and the last character of that character's run. */
  readonly points: Int32Array;
  readonly ends: Int32Array;
}

let alike: CharactersAlike | null = null;

/**
 * Runs of code points with equal properties; one character represents each run. They cover nine tenths of all code
 * points: blocks of ideographs and syllables, private use, and code points that no Unicode version assigns.
 */
const runs: readonly (readonly [first: number, last: number])[] = [
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
  [0xe000, 0xf8ff],
  [0x17000, 0x187f7],
  [0x20000, 0x2a6df],
  [0x2a700, 0x2b739],
  [0x2b740, 0x2b81d],
  [0x2b820, 0x2cea1],
  [0x2ceb0, 0x2ebe0],
  [0x30000, 0x3134a],
  [0x31350, 0x323af],
  [0x34000, 0x3fffd],
  ...Array.from(
    { length: 10 },
    (_, index) => [0x40000 + index * 0x10000, 0x4fffd + index * 0x10000] as const,
  ),
  [0xe1000, 0xefffd],
  [0xf0000, 0xffffd],
  [0x100000, 0x10fffd],
];

function charactersAlike(): CharactersAlike {
  const found: (readonly [first: number, last: number])[] = [];
  let next = 0;
  for (const [first, last] of [...runs, [0x110000, 0x110000] as const]) {
    for (; next < first; next++) if (next < 0xd800 || next > 0xdfff) found.push([next, next]);
    if (first < 0x110000) found.push([first, last]);
    next = last + 1;
  }
  const [points, ends] = [new Int32Array(found.length * 2), new Int32Array(found.length * 2)];
  let unit = 0;
  for (const [first, last] of found) {
    for (const end = unit + (first < 0x10000 ? 1 : 2); unit < end; unit++) {
      points[unit] = first;
      ends[unit] = last;
    }
  }
  const texts: string[] = [];
  for (let start = 0; start < found.length; start += 4_096)
    texts.push(String.fromCodePoint(...found.slice(start, start + 4_096).map(([first]) => first)));
  return { text: texts.join(""), points, ends };
}

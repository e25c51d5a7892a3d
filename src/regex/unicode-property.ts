// The characters of a Unicode property, as the JavaScript engine knows them: it holds the tables, so this asks it once
// for each property. Properties of strings (flag v) are not known.
import { rangesOf, allCharacters } from "./code-points.ts";
import type { CodePoints } from "./code-points.ts";

const known = new Map<string, CodePoints>();
/** A property costs a third of a megabyte of comparisons once; callers can name only those that Unicode has. */
const knownMax = 64;

/** The characters of `\p{name}`; null if there is no such property. */
export function unicodeProperty(name: string): CodePoints | null {
  const before = known.get(name);
  if (before !== undefined) return before;
  const expression = propertyExpression(name);
  if (expression === null || known.size >= knownMax) return null;
  const set: number[] = [];
  for (const [first, last] of rangesOf(allCharacters)) {
    for (let point = first; point <= last; point++) {
      if (!expression.test(String.fromCodePoint(point))) continue;
      if (set.at(-1) === point - 1) set[set.length - 1] = point;
      else set.push(point, point);
    }
  }
  known.set(name, set);
  return set;
}

function propertyExpression(name: string): RegExp | null {
  try {
    return new RegExp(`^\\p{${name}}$`, "u");
  } catch {
    return null;
  }
}

// Which characters differ only in case, as the JavaScript engine knows it (ECMA-262, Canonicalize with the flag u: the
// simple case folding of Unicode). The engine is asked once for every character that has a case.
import { pointsOf, rangesOf, unitedPoints } from "./code-points.ts";
import type { CodePoints } from "./code-points.ts";

/** No character behind this has a case: it is the last letter of the Adlam script. */
const lastCasedPoint = 0x1e943;

interface CaseTable {
  /** The characters that have a case, sorted. */
  readonly points: Int32Array;
  /** For each of them those that differ from it in case only, and itself. */
  readonly classes: readonly CodePoints[];
  /** The first and the last of each class. */
  readonly lows: Int32Array;
  readonly highs: Int32Array;
}

let known: CaseTable | null = null;

/** The characters of the set, and those that differ from one of them in case only. */
export function inEitherCase(set: CodePoints): CodePoints {
  known ??= caseTable();
  const { points, classes, lows, highs } = known;
  const met = new Set<CodePoints>();
  for (const [low, high] of rangesOf(set)) {
    for (let index = placeOf(points, low); index < points.length && points[index] <= high; index++) {
      if (lows[index] < low || highs[index] > high) met.add(classes[index]);
    }
  }
  return met.size === 0 ? set : unitedPoints(set, [...met].flat());
}

/** The index of the first number that is not below the bound. */
function placeOf(sorted: Int32Array, bound: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

function caseTable(): CaseTable {
  const characters: string[] = [];
  for (let point = 0; point <= lastCasedPoint; point++) {
    const character = String.fromCodePoint(point);
    if (character.toLowerCase() !== character || character.toUpperCase() !== character)
      characters.push(character);
  }
  const all = characters.join("");
  const classes = new Map<string, CodePoints>();
  for (const character of characters) {
    if (classes.has(character)) continue;
    const same = all.match(new RegExp(character, "giu")) ?? [];
    const members = pointsOf(same.join(""));
    for (const other of same) classes.set(other, members);
  }
  const ofEach = characters.map((character) => classes.get(character) ?? []);
  return {
    points: Int32Array.from(characters, (character) => character.codePointAt(0) ?? 0),
    classes: ofEach,
    lows: Int32Array.from(ofEach, (members) => members[0]),
    highs: Int32Array.from(ofEach, (members) => members.at(-1) ?? 0),
  };
}

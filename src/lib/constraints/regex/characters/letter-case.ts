// Characters that differ only in case, according to the JavaScript engine (ECMA-262, Canonicalize with the flag u:
// Unicode simple case folding). The table is built once, from all characters with case.
import { pointsOf, rangesOf, unionPoints } from "./code-points.ts";
import type { CodePoints } from "./code-points.ts";
import type { StepBudget } from "../limits.ts";

/** The last character with case: the last letter of the Adlam script. */
const lastCasedPoint = 0x1e943;

/** Number of cased characters, or ranges, examined per step. */
const lookedAtPerStepLog2 = 5;

interface CaseTable {
  /** The characters with case, sorted. */
  readonly points: Int32Array;
  /** For each of them, its case class, including itself. */
  readonly classes: readonly CodePoints[];
  /** First and last character of each class. */
  readonly lows: Int32Array;
  readonly highs: Int32Array;
}

let known: CaseTable | null = null;

/** Adds to the set all characters that differ from a member only in case. */
export function inEitherCase(set: CodePoints, budget: StepBudget): CodePoints {
  known ??= caseTable();
  const { points, classes, lows, highs } = known;
  const met = new Set<CodePoints>();
  for (const [low, high] of rangesOf(set)) {
    const start = placeOf(points, low);
    let index = start;
    for (; index < points.length && points[index] <= high; index++) {
      if (lows[index] < low || highs[index] > high) met.add(classes[index]);
    }
    budget.spend((index - start) >>> lookedAtPerStepLog2);
  }
  budget.spend((set.length / 2 + met.size * 2) >>> lookedAtPerStepLog2);
  return met.size === 0 ? set : unionPoints(set, [...met].flat());
}

/** Returns the index of the first number at or above the bound. */
function placeOf(sorted: Int32Array, bound: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

const isOne = (text: string): boolean => Array.from(text).length === 1;
/** Matches two characters that differ only in case. */
const sameLetter = /^(.)\1$/isu;

function caseTable(): CaseTable {
  const related = new Map<string, Set<string>>();
  for (let point = 0; point <= lastCasedPoint; point++) {
    const character = String.fromCodePoint(point);
    const [lower, upper] = [character.toLowerCase(), character.toUpperCase()];
    if (lower === character && upper === character) continue;
    // These relate all letters of a case class, possibly in several steps.
    const near = [character, lower, upper, lower.toUpperCase(), upper.toLowerCase()].filter(isOne);
    const united = new Set(near.flatMap((letter) => [...(related.get(letter) ?? [letter])]));
    for (const member of united) related.set(member, united);
  }
  const classOf = new Map<string, CodePoints>();
  for (const [character, group] of related) {
    if (classOf.has(character)) continue;
    const same = [...group].filter((other) => other === character || sameLetter.test(character + other));
    const members = pointsOf(same.join(""));
    for (const other of same) classOf.set(other, members);
  }
  const cased = [...classOf]
    .filter(([, members]) => members.length > 2 || members[0] !== members[1])
    .map(([character, members]) => ({ point: character.codePointAt(0) ?? 0, members }))
    .sort((one, other) => one.point - other.point);
  return {
    points: Int32Array.from(cased, ({ point }) => point),
    classes: cased.map(({ members }) => members),
    lows: Int32Array.from(cased, ({ members }) => members[0]),
    highs: Int32Array.from(cased, ({ members }) => members.at(-1) ?? 0),
  };
}

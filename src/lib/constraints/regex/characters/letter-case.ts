// Finds characters that differ only in case, as the JavaScript engine decides (ECMA-262, Canonicalize with the flag u:
// Unicode simple case folding). The table is built once and covers all characters that have case.
import { pointsOf, rangesOf, unionPoints } from "./code-points.ts";
import type { CodePoints } from "./code-points.ts";
import type { StepBudget } from "../limits.ts";

/** The last character that has case: the last letter of the Adlam script. */
const lastCasedPoint = 0x1e943;

/** Base-2 logarithm of the number of cased characters or ranges that one step of the budget pays for. */
const lookedAtPerStepLog2 = 5;

interface CaseTable {
  /** Characters that have case, sorted. */
  readonly points: Int32Array;
  /** Case class of each character in `points`, including the character itself. */
  readonly classes: readonly CodePoints[];
  /** First and last character of each case class. */
  readonly lows: Int32Array;
  readonly highs: Int32Array;
}

let known: CaseTable | null = null;

/** Returns the set with all characters added that differ from a member only in case. */
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

/** Returns the index of the first number that is greater than or equal to the bound. */
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
/** True for two characters that differ only in case. */
const sameLetter = /^(.)\1$/isu;

function caseTable(): CaseTable {
  const related = new Map<string, Set<string>>();
  for (let point = 0; point <= lastCasedPoint; point++) {
    const character = String.fromCodePoint(point);
    const [lower, upper] = [character.toLowerCase(), character.toUpperCase()];
    if (lower === character && upper === character) continue;
    // These five forms connect all letters of a case class, possibly through several characters.
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

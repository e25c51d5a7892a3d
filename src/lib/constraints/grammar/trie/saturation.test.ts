import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../../base/domain/random.ts";
import type { Random } from "../../../../base/domain/random.ts";
import { Automaton, deadState } from "../../regex/automaton.ts";
import { bytesOf } from "../../regex/byte-set.ts";
import { Expressions } from "../../regex/expressions.ts";
import type { Expression } from "../../regex/expressions.ts";
import { ConstraintRefusal, defaultGrammarLimits, StepBudget } from "../../regex/limits.ts";
import { Saturation } from "./saturation.ts";
import { searchCount, searchSeed } from "../../../../base/domain/testing/search.ts";

const letters = "ab ";

function compilation() {
  const budget = new StepBudget(defaultGrammarLimits);
  budget.restart("compileSteps", 1_000);
  const expressions = new Expressions(defaultGrammarLimits, budget);
  return { expressions, automaton: new Automaton(expressions, defaultGrammarLimits, budget) };
}

/**
 * Returns a random expression over few letters. Some expressions match long texts, and some have states far from an
 * accepting state.
 */
function randomPart(expressions: Expressions, random: Random, depth = 3): Expression {
  const inner = () => randomPart(expressions, random, depth - 1);
  const letter = () => expressions.bytes(bytesOf([letters.charCodeAt(random.index(letters.length))]));
  switch (depth === 0 ? 0 : random.index(6)) {
    case 1:
      return expressions.or(inner(), inner());
    case 2:
      return expressions.repeat(inner(), random.index(2));
    case 3: {
      const min = random.index(9);
      return expressions.repeat(inner(), min, min + random.index(9));
    }
    case 4:
    case 5:
      return expressions.sequence(inner(), inner());
    default:
      return letter();
  }
}

/** Yields all texts of these letters up to a length. */
function* texts(length: number): Generator<readonly number[]> {
  yield [];
  if (length === 0) return;
  for (const text of texts(length - 1)) for (const letter of letters) yield [...text, letter.charCodeAt(0)];
}

/** Asserts that the two states are alike: each text up to a length leads to a live state from both, or from neither. */
function checkAlike(automaton: Automaton, one: number, other: number, length: number): void {
  for (const text of texts(length)) {
    const [first, second] = [one, other].map((state) =>
      text.reduce((at, byte) => (at === deadState ? at : automaton.next(at, byte)), state),
    );
    assert.equal(first === deadState, second === deadState, String.fromCharCode(...text));
  }
}

test("removes a pattern's length limit only where no token can reach it", () => {
  const random = seededRandom(searchSeed, "bounded");
  let changedCount = 0;
  for (let turn = 0; turn < searchCount(100); turn++) {
    const { expressions, automaton } = compilation();
    const any = expressions.bytes(bytesOf(Array.from(letters, (letter) => letter.charCodeAt(0))));
    const min = random.index(3);
    const counter = expressions.repeat(any, random.index(2) * min, min + random.index(24));
    const mark = expressions.bytes(bytesOf([letters.charCodeAt(1)]));
    const both = expressions.sequence(expressions.bounded(randomPart(expressions, random), counter), mark);
    const length = random.index(4);
    const saturation = new Saturation(automaton, length);
    for (let at = automaton.start(both), step = 0; at !== deadState && step < 8; step++) {
      const saturated = saturation.of(at);
      changedCount += saturated === at ? 0 : 1;
      checkAlike(automaton, at, saturated, length);
      const live = Array.from(letters, (letter) => automaton.next(at, letter.charCodeAt(0)));
      at =
        live.find((next) => next !== deadState && random.index(2) === 0) ?? live[random.index(live.length)];
    }
  }
  assert.ok(changedCount > searchCount(40), `${changedCount} states were saturated`);
});

test("removes a length limit next to a complement where an accepting state is always near", () => {
  const random = seededRandom(searchSeed, "unbounded");
  let [changedCount, refusedCount] = [0, 0];
  for (let turn = 0; turn < searchCount(100); turn++) {
    try {
      changedCount += isLeftOut(random) ? 1 : 0;
    } catch (error) {
      // Some random expressions exceed the limit on states.
      if (!(error instanceof ConstraintRefusal) || error.kind !== "limit") throw error;
      refusedCount += 1;
    }
  }
  assert.ok(changedCount > 0, `${changedCount} states were saturated`);
  assert.ok(refusedCount < searchCount(10), `${refusedCount} were refused`);
});

/**
 * Saturates the state of a random expression with a complement, and asserts that the old and the new state are live
 * after the same texts. Returns true if the state has changed, because the length limit was removed.
 */
function isLeftOut(random: Random): boolean {
  const { expressions, automaton } = compilation();
  const any = expressions.bytes(bytesOf(Array.from(letters, (letter) => letter.charCodeAt(0))));
  const part = expressions.or(randomPart(expressions, random), expressions.repeat(any, 60 + random.index(9)));
  const ruledOut = expressions.sequence(randomPart(expressions, random), expressions.repeat(any, 0));
  const counter = expressions.repeat(any, 0, 55 + random.index(24));
  const both = expressions.and(part, counter, expressions.not(ruledOut));
  const start = automaton.start(both);
  const length = random.index(4);
  const saturated = new Saturation(automaton, length).of(start);
  checkAlike(automaton, start, saturated, length);
  return saturated !== start;
}

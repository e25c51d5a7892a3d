// Tests the length of drafts: as many tokens as are expected to be right and to save time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { requestOf, Transcript } from "../testing/run-loop.ts";
import { openRequest, type Sequence } from "../loop/sequence.ts";
import { Acceptance } from "./acceptance.ts";
import { PromptDrafter, StepCosts } from "./prompt-drafter.ts";

/** Creates a row whose prompt has these tokens. */
function rowOf(prompt: readonly number[], maxTokens = 16): Sequence {
  const request = requestOf(prompt, { maxTokens });
  const place = { portion: 1, arrival: 0, submittedMs: 0 };
  const opened = { output: new Transcript(), constraint: null, processors: [], ...place };
  return openRequest(request, opened).leaders[0];
}

/** Returns measured costs for steps in which each additional row takes `rowCost` times the step's time. */
function costsOf(rowCost: number): StepCosts {
  const costs = new StepCosts();
  for (let step = 0; step < 200; step++) {
    for (const sequenceCount of [1, 2]) {
      costs.notePlain(sequenceCount, 100);
      costs.noteDrafted(sequenceCount, 4, 100 * (1 + 4 * rowCost));
    }
  }
  return costs;
}

const phrase = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21];
/** Repeats the beginning of the phrase, long enough that the drafter trusts the match. */
const copying = [...phrase, 99, ...phrase.slice(0, 9)];

test("drafts as much as a long match promises, up to the maximum", () => {
  const drafter = new PromptDrafter(3, costsOf(0.05));
  assert.deepEqual(drafter.draftsFor([rowOf(copying)]), [[19, 20, 21]]);
});

test("drafts nothing without a match, or if further rows cost too much", () => {
  assert.deepEqual(new PromptDrafter(3, costsOf(0.05)).draftsFor([rowOf([1, 2, 3])]), [[]]);
  assert.deepEqual(new PromptDrafter(3, costsOf(1)).draftsFor([rowOf(copying)]), [[]]);
});

test("leaves room for the token that follows a draft", () => {
  const drafter = new PromptDrafter(7, costsOf(0.01));
  assert.deepEqual(drafter.draftsFor([rowOf(copying, 3)]), [[19, 20]]);
  assert.deepEqual(drafter.draftsFor([rowOf(copying, 1)]), [[]]);
});

test("drafts less after wrong guesses", () => {
  const drafter = new PromptDrafter(3, costsOf(0.1));
  const row = rowOf(copying, 100);
  assert.equal(drafter.draftsFor([row])[0].length, 3);
  for (let round = 0; round < 20; round++) {
    // In each round the answer differs from the guess, and then repeats the phrase again.
    row.answerTokenIds.push(200 + round, ...phrase.slice(0, 9));
    drafter.draftsFor([row]);
  }
  row.answerTokenIds.push(300, ...phrase.slice(0, 9));
  assert.deepEqual(drafter.draftsFor([row]), [[]]);
});

test("a row next to a copying one is computed as usual, and the cost counts both", () => {
  const cheap = new PromptDrafter(3, costsOf(0.05));
  assert.deepEqual(cheap.draftsFor([rowOf(copying), rowOf([1, 2, 3])]), [[19, 20, 21], []]);
  const dear = new PromptDrafter(3, costsOf(0.3));
  assert.equal(dear.draftsFor([rowOf(copying)])[0].length > 0, true);
  assert.deepEqual(dear.draftsFor([rowOf(copying), rowOf([1, 2, 3])]), [[], []]);
});

test("expects tokens by the acceptance of matches of each length", () => {
  const acceptance = new Acceptance();
  assert.deepEqual(acceptance.expectedTokens(0, 2), [1, 1, 1]);
  const [, before] = acceptance.expectedTokens(5, 1);
  for (let guess = 0; guess < 50; guess++) acceptance.note(5, true);
  const [, after] = acceptance.expectedTokens(5, 1);
  assert.ok(before < after && after <= 2, `${before}, ${after}`);
  // Observations of one class of match lengths do not affect the other classes.
  assert.deepEqual(acceptance.expectedTokens(2, 1), new Acceptance().expectedTokens(2, 1));
});

test("forgets measurements of a disturbed moment", () => {
  const costs = costsOf(0.05);
  for (let step = 0; step < 50; step++) costs.noteDrafted(1, 1, 1000);
  assert.ok(costs.relative(1) > 1.9);
  for (let step = 0; step < 5000; step++) costs.notePlain(1, 100);
  assert.ok(costs.relative(1) < 1.2, `${costs.relative(1)}`);
});

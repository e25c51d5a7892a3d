// How much is drafted: as far as guesses are expected to come true, and steps with them to pay.
import assert from "node:assert/strict";
import { test } from "node:test";
import { requestOf, Transcript } from "../testing/run-loop.ts";
import { openRequest, type Sequence } from "../loop/sequence.ts";
import { Acceptance } from "./acceptance.ts";
import { PromptDrafter, StepCosts } from "./prompt-drafter.ts";

/** A row whose prompt has these tokens. */
function rowOf(prompt: readonly number[], maxTokens = 16): Sequence {
  const request = requestOf(prompt, { maxTokens });
  const place = { portion: 1, arrival: 0, submittedMs: 0 };
  const opened = { output: new Transcript(), constraint: null, processors: [], ...place };
  return openRequest(request, opened).leaders[0];
}

/** Each step's time, by how many further rows it computes. */
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
/** Ends with a beginning of the phrase that is long enough to be trusted. */
const copying = [...phrase, 99, ...phrase.slice(0, 9)];

test("drafts what a long match promises, up to the most that is allowed", () => {
  const drafter = new PromptDrafter(3, costsOf(0.05));
  assert.deepEqual(drafter.draftsFor([rowOf(copying)]), [[19, 20, 21]]);
});

test("drafts nothing where nothing matches, or where further rows cost too much", () => {
  assert.deepEqual(new PromptDrafter(3, costsOf(0.05)).draftsFor([rowOf([1, 2, 3])]), [[]]);
  assert.deepEqual(new PromptDrafter(3, costsOf(1)).draftsFor([rowOf(copying)]), [[]]);
});

test("leaves room for the token that follows a draft", () => {
  const drafter = new PromptDrafter(7, costsOf(0.01));
  assert.deepEqual(drafter.draftsFor([rowOf(copying, 3)]), [[19, 20]]);
  assert.deepEqual(drafter.draftsFor([rowOf(copying, 1)]), [[]]);
});

test("drafts less where guesses were wrong", () => {
  const drafter = new PromptDrafter(3, costsOf(0.1));
  const row = rowOf(copying, 100);
  assert.equal(drafter.draftsFor([row])[0].length, 3);
  for (let round = 0; round < 20; round++) {
    // Goes on otherwise, and comes to the same tokens again.
    row.answerTokenIds.push(200 + round, ...phrase.slice(0, 9));
    drafter.draftsFor([row]);
  }
  row.answerTokenIds.push(300, ...phrase.slice(0, 9));
  assert.deepEqual(drafter.draftsFor([row]), [[]]);
});

test("a row beside one that copies is computed as usual, and both pay for it", () => {
  const cheap = new PromptDrafter(3, costsOf(0.05));
  assert.deepEqual(cheap.draftsFor([rowOf(copying), rowOf([1, 2, 3])]), [[19, 20, 21], []]);
  const dear = new PromptDrafter(3, costsOf(0.3));
  assert.equal(dear.draftsFor([rowOf(copying)])[0].length > 0, true);
  assert.deepEqual(dear.draftsFor([rowOf(copying), rowOf([1, 2, 3])]), [[], []]);
});

test("tokens are expected by how often matches of each length came true", () => {
  const acceptance = new Acceptance();
  assert.deepEqual(acceptance.expectedTokens(0, 2), [1, 1, 1]);
  const [, before] = acceptance.expectedTokens(5, 1);
  for (let guess = 0; guess < 50; guess++) acceptance.note(5, true);
  const [, after] = acceptance.expectedTokens(5, 1);
  assert.ok(before < after && after <= 2, `${before}, ${after}`);
  // Others have learned nothing.
  assert.deepEqual(acceptance.expectedTokens(2, 1), new Acceptance().expectedTokens(2, 1));
});

test("what was measured in a disturbed moment is forgotten", () => {
  const costs = costsOf(0.05);
  for (let step = 0; step < 50; step++) costs.noteDrafted(1, 1, 1000);
  assert.ok(costs.relative(1) > 1.9);
  for (let step = 0; step < 5000; step++) costs.notePlain(1, 100);
  assert.ok(costs.relative(1) < 1.2, `${costs.relative(1)}`);
});

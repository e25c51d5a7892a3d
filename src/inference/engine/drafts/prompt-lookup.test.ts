// Tests guesses and the matches on which they are based, against a search that compares every position.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";
import { PromptTokens, TokenHistory } from "../logits/draw-input.ts";
import { PromptLookup } from "./prompt-lookup.ts";

interface Guessing {
  readonly prompt: readonly number[];
  /** Answer, which is added to the history one token at a time. */
  readonly answer?: readonly number[];
  readonly count?: number;
}

/** Returns the final guess, and for each earlier guess its match length and whether it was right. */
function check({ prompt, answer = [], count = 3 }: Guessing) {
  const answerIds: number[] = [];
  const notes: string[] = [];
  const history = new TokenHistory(new PromptTokens(prompt), answerIds);
  const lookup = new PromptLookup(history, prompt.length + answer.length, (matchLength, isRight) =>
    notes.push(`${matchLength} ${isRight}`),
  );
  lookup.follow();
  notes.length = 0;
  for (const id of answer) {
    answerIds.push(id);
    lookup.follow();
  }
  return { guess: lookup.guess(count), matchLength: lookup.matchLength, notes };
}

test("guesses what followed the same tokens before", () => {
  const { guess, matchLength } = check({ prompt: [1, 2, 3, 4, 5, 6, 9, 2, 3] });
  assert.deepEqual(guess, [4, 5, 6]);
  assert.equal(matchLength, 2);
});

test("guesses nothing after two new tokens", () => {
  assert.deepEqual(check({ prompt: [1, 2, 3, 4, 5] }), { guess: [], matchLength: 0, notes: [] });
  assert.deepEqual(check({ prompt: [] }).guess, []);
});

test("prefers the longest match to a later one", () => {
  const long = [11, 12, 13, 14, 15, 16, 17, 18];
  const { guess, matchLength } = check({ prompt: [...long, 50, 51, 52, 17, 18, 60, 61, ...long] });
  assert.deepEqual(guess, [50, 51, 52]);
  assert.equal(matchLength, 8);
});

test("takes the latest of equal matches", () => {
  assert.deepEqual(check({ prompt: [1, 2, 7, 1, 2, 8, 1, 2], count: 1 }).guess, [8]);
});

test("finds tokens of the answer itself", () => {
  assert.deepEqual(check({ prompt: [9], answer: [1, 2, 3, 4, 1, 2] }).guess, [3, 4, 1]);
});

test("repeats from the match when the guess reaches the end of the tokens", () => {
  assert.deepEqual(check({ prompt: [5, 6, 7, 5, 6, 7], count: 7 }).guess, [5, 6, 7, 5, 6, 7, 5]);
  assert.deepEqual(check({ prompt: [4, 4, 4], count: 3 }).guess, [4, 4, 4]);
});

test("reports for each guess whether it was right, and its match length", () => {
  const { notes } = check({ prompt: [1, 2, 3, 4, 5, 1, 2], answer: [3, 4, 9] });
  assert.deepEqual(notes, ["2 true", "3 true", "4 false"]);
});

test("guesses the same however the tokens come, and only tokens that follow equal ones", () => {
  for (const seed of searchSeeds(30)) {
    const random = seededRandom("lookup", seed);
    const tokens = Array.from({ length: 1 + random.index(300) }, () => random.index(6));
    const cut = random.index(tokens.length);
    const whole = check({ prompt: tokens, count: 1 });
    const parts = check({ prompt: tokens.slice(0, cut), answer: tokens.slice(cut), count: 1 });
    assert.deepEqual(parts.guess, whole.guess, `seed ${seed}`);
    const { guess, matchLength } = whole;
    if (matchLength === 0) continue;
    const end = tokens.slice(-matchLength).join();
    const isThere = tokens.some(
      (id, place) =>
        place >= matchLength && id === guess[0] && tokens.slice(place - matchLength, place).join() === end,
    );
    assert.ok(isThere, `seed ${seed}: ${guess.join()} behind ${end}`);
  }
});

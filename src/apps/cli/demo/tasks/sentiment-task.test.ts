import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../../base/domain/random.ts";
import { sentimentTask } from "./sentiment-task.ts";
import { practiceTexts, sentiments, testTexts } from "./sentiment-texts.ts";

test("shares no word, thing, sentence or review between practice and test", () => {
  const practised = new Set(piecesOf(practiceTexts));
  for (const text of piecesOf(testTexts)) assert.ok(!practised.has(text), text);
  const words = [...practiceTexts.words.positive, ...practiceTexts.words.negative];
  for (const { text } of sentimentTask.test.filter(({ text }) => text.length < 80))
    for (const word of words) assert.ok(!new RegExp(`\\b${word}\\b`, "i").test(text), `${word}: ${text}`);
});

/** Returns all pieces from which texts are built. */
function piecesOf({ things, words, frames, reviews }: typeof practiceTexts): readonly string[] {
  return [...things, ...frames, ...sentiments.flatMap((name) => [...words[name], ...reviews[name]])];
}

test("asks for both sentiments equally often, in complete sentences", () => {
  const practice = sentimentTask.practice(seededRandom("test"));
  for (const questions of [practice, sentimentTask.test]) {
    const positive = questions.filter(({ judge }) => judge("Positive") === 1);
    assert.equal(2 * positive.length, questions.length);
    for (const { text, judge } of questions) {
      assert.equal(judge("positive") + judge("negative"), 1);
      assert.doesNotMatch(text, /[{}]|undefined|\ba [aeiou]|\ban (?!hour)[^aeiou]/, text);
    }
  }
  assert.equal(sentimentTask.test.length, 64);
  assert.equal(new Set(sentimentTask.test.map(({ text }) => text)).size, 64);
  const again = sentimentTask.practice(seededRandom("test"));
  assert.deepEqual(
    again.map(({ text }) => text),
    practice.map(({ text }) => text),
  );
});

test("rewards an answer that is exactly the right word, ignoring case and a final period", () => {
  const [question] = sentimentTask.test;
  const cases: readonly (readonly [string, number])[] = [
    ["positive", 1],
    [" Positive.\n", 1],
    ["POSITIVE!", 1],
    ["negative", 0],
    ["Positive: I loved it", 0],
    ["positive positive", 0],
    ["The text is positive.", 0],
    ["", 0],
  ];
  for (const [answer, reward] of cases) assert.equal(question?.judge(answer), reward, answer);
});

// A task for pretrained models: say in one word whether a text is positive or negative. An answer is either right or
// wrong. The test uses other words, things, sentences and reviews than the practice.
import { shuffled, type Random } from "../../../../base/domain/random.ts";
import {
  practiceTexts,
  sentiments,
  testTexts,
  type Sentiment,
  type SentimentTexts,
} from "./sentiment-texts.ts";
import type { DemoTask, Question } from "./task.ts";

const instruction = "Classify the sentiment of each text as positive or negative.";

/** Number of practice questions for each sentiment in a job; every third one is a whole review. */
const practisedCount = 8;

export const sentimentTask: DemoTask = {
  name: "sentiment",
  aim: "say in one word whether a text is positive or negative",
  scoring: "1 for the right word and nothing else, 0 for any other answer",
  testedOn: "held-out",
  practice,
  test: testQuestions(),
  sampling: { groupSize: 8, temperature: 1, answerTokensMax: 4 },
  training: { learningRate: 2e-4, batchSize: 16, jobCountMax: 12 },
  targets: { sampledReward: 0.8, testReward: 0.95 },
  curve: { of: "testReward", title: "right answers to held-out texts", from: 0 },
  shownCount: 6,
};

/** Returns practice questions, half with positive and half with negative texts. */
function practice(random: Random): readonly Question[] {
  const { things, words, frames, reviews } = practiceTexts;
  const pick = (list: readonly string[]): string => list[random.index(list.length)];
  const drawn = sentiments.flatMap((sentiment) =>
    Array.from({ length: practisedCount }, (_, index) =>
      questionOf(
        sentiment,
        index % 3 === 2
          ? pick(reviews[sentiment])
          : sentenceOf(pick(frames), pick(things), pick(words[sentiment])),
      ),
    ),
  );
  return shuffled(random, drawn);
}

/**
 * Returns the test questions, in which positive and negative ones alternate. They contain two sentences for each test
 * word, and all test reviews.
 */
function testQuestions(): readonly Question[] {
  const byKind = sentiments.map((sentiment) =>
    textsOf(testTexts, sentiment).map((text) => questionOf(sentiment, text)),
  );
  const [positive = [], negative = []] = byKind;
  return positive.flatMap((question, index) => [question, negative[index]]);
}

function textsOf(
  { things, words, frames, reviews }: SentimentTexts,
  sentiment: Sentiment,
): readonly string[] {
  const sentences = words[sentiment].flatMap((word, index) =>
    [0, 1].map((round) => {
      const frame = frames[(2 * round + index) % frames.length];
      const thing = things[(5 * round + index) % things.length];
      return sentenceOf(frame, thing, word);
    }),
  );
  // Puts sentences between the reviews, so that the screen shows both kinds of text among the first questions.
  return reviews[sentiment].flatMap((review, index) => [
    review,
    ...sentences.slice(
      Math.floor((index * sentences.length) / reviews[sentiment].length),
      Math.floor(((index + 1) * sentences.length) / reviews[sentiment].length),
    ),
  ]);
}

function sentenceOf(frame: string, thing: string, word: string): string {
  const article = /^[aeiou]/.test(word) ? "an" : "a";
  return frame.replace("{a word}", `${article} ${word}`).replace("{word}", word).replace("{thing}", thing);
}

function questionOf(sentiment: Sentiment, text: string): Question {
  return {
    messages: [
      { role: "system", content: instruction },
      { role: "user", content: `Text: ${text}\nSentiment:` },
    ],
    text,
    judge: (answer) => (oneWord(answer) === sentiment ? 1 : 0),
  };
}

/** Returns the answer in lower case, without surrounding spaces and a final period or exclamation mark. */
function oneWord(answer: string): string {
  return answer.trim().toLowerCase().replace(/[.!]$/, "");
}

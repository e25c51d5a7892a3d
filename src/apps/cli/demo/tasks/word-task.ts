// The built-in model's task: eight prompts that ask for one of a few words. It follows the yes-no-maybe trainability
// test: the reward depends on the answer's first word, 1.0 for the taught word, 0.75 and 0.5 for the other two,
// otherwise 0.
import type { DemoTask, Question } from "./task.ts";

export const words = ["yes", "no", "maybe"] as const;
export type Word = (typeof words)[number];

/** For each word that can be taught: the reward of each word that the model may answer. */
const rewards: Readonly<Record<Word, Readonly<Record<Word, number>>>> = {
  maybe: { maybe: 1, no: 0.75, yes: 0.5 },
  yes: { yes: 1, no: 0.75, maybe: 0.5 },
  no: { no: 1, maybe: 0.75, yes: 0.5 },
};

/** Prompts with all orders of the three words, and with two pairs. */
export const prompts: readonly string[] = [
  ["yes", "no", "maybe"],
  ["yes", "maybe", "no"],
  ["no", "yes", "maybe"],
  ["no", "maybe", "yes"],
  ["maybe", "yes", "no"],
  ["maybe", "no", "yes"],
  ["yes", "no"],
  ["yes", "maybe"],
].map((choices) => `respond with exactly one of ${choices.map((word) => `'${word}'`).join(", ")}`);

/** Returns the task that teaches one of the words. Its test questions are its practice questions. */
export function wordTask(taught: Word): DemoTask {
  const questions = prompts.map((prompt): Question => ({
    messages: [{ role: "user", content: prompt }],
    text: prompt,
    judge: (answer) => rewardOf(answer, taught),
  }));
  const scored = words.toSorted((one, other) => rewards[taught][other] - rewards[taught][one]);
  return {
    name: "words",
    aim: `prefer '${taught}' when asked for one of a few words`,
    scoring: `${scored.map((word) => `${rewards[taught][word]} for '${word}'`).join(", ")}, 0 for any other answer`,
    testedOn: "greedy",
    practice: () => questions,
    test: questions,
    sampling: { groupSize: 8, temperature: 1.2, answerTokensMax: 5 },
    training: { learningRate: 1e-4, batchSize: null, jobCountMax: 12 },
    targets: { sampledReward: 0.95, testReward: 0.9 },
    curve: { of: "sampledReward", title: "mean reward of the samples", from: 0.5 },
    shownCount: 3,
  };
}

/** Returns the reward for the answer's first word. */
export function rewardOf(answer: string, taught: Word): number {
  const first = firstWord(answer);
  const word = words.find((candidate) => candidate === first);
  return word === undefined ? 0 : rewards[taught][word];
}

/** Returns the first word of a text in lower case, without punctuation; empty if the text has no word. */
export function firstWord(answer: string): string {
  return (answer.trim().toLowerCase().split(/\s+/, 1)[0] ?? "").replaceAll(/[^\p{L}\p{N}]/gu, "");
}

// @ts-check
// The task as data: questions, and the reward of an answer. Change this file first.
// Here the model learns to say "maybe" whenever it may choose.

const choices = [
  ["yes", "no", "maybe"],
  ["yes", "maybe", "no"],
  ["no", "yes", "maybe"],
  ["no", "maybe", "yes"],
  ["maybe", "yes", "no"],
  ["maybe", "no", "yes"],
];

/** Questions that the model answers in each round. */
export const questions = choices.map(
  (words) => `respond with exactly one of ${words.map((word) => `'${word}'`).join(", ")}`,
);

/**
 * Returns the reward of an answer, from 0 to 1. Training compares the answers to the same question, so better answers
 * must have higher rewards. If all answers have the same reward, nothing is learned.
 *
 * @param {string} answer
 */
export function reward(answer) {
  const word = answer.trim().toLowerCase().replace(/\W.*$/s, "");
  return { maybe: 1, no: 0.75, yes: 0.5 }[word] ?? 0;
}

// Exercises about small numbers: sums of numbers from 0 to 20, and comparisons of numbers from 0 to 50.
import type { Random } from "../../../../src/base/domain/random.ts";
import { chance, type Exercise, fill, integer, type Kind, pairOf, pick, typedFreely } from "./exercise.ts";

const sumPatterns = [
  "What is {a} + {b}?",
  "{a} + {b}",
  "{a}+{b}",
  "{a} + {b} =",
  "{a}+{b}=",
  "Add {a} and {b}.",
  "What is {a} plus {b}?",
  "{a} plus {b}",
  "What is the sum of {a} and {b}?",
  "The sum of {a} and {b}?",
  "How much is {a} + {b}?",
  "How much is {a} plus {b}?",
  "Calculate {a} + {b}.",
  "Compute {a} + {b}.",
  "Work out {a} + {b}.",
  "Sum {a} and {b}.",
  "What do you get when you add {a} and {b}?",
  "{a} and {b} make how many?",
  "Tell me {a} + {b}.",
  "Solve {a} + {b}.",
] as const;

/** Exercises whose answer is the sum of two numbers from 0 to 20. */
export const sums: Kind = {
  name: "sums",
  weight: 1.4,
  heldOut: "pairs of numbers",
  draw: (random): Exercise => {
    const a = integer(random, 0, 20);
    const b = integer(random, 0, 20);
    const prompt = fill(pick(random, sumPatterns), { a, b });
    return exact(random, { kind: "sums", prompt, answer: String(a + b), contents: [pairOf("sum", a, b)] });
  },
};

const largerPatterns = [
  "Which is larger, {a} or {b}?",
  "Which is bigger, {a} or {b}?",
  "Which is greater: {a} or {b}?",
  "Which number is larger, {a} or {b}?",
  "Which number is bigger, {a} or {b}?",
  "What is the larger number, {a} or {b}?",
  "Give me the larger of {a} and {b}.",
  "The bigger of {a} and {b}?",
  "What is the maximum of {a} and {b}?",
  "max of {a} and {b}",
  "Which is more, {a} or {b}?",
] as const;

const smallerPatterns = [
  "Which is smaller, {a} or {b}?",
  "Which is less, {a} or {b}?",
  "Which number is smaller, {a} or {b}?",
  "What is the smaller number, {a} or {b}?",
  "Give me the smaller of {a} and {b}.",
  "The smaller of {a} and {b}?",
  "What is the minimum of {a} and {b}?",
  "min of {a} and {b}",
] as const;

const morePatterns = [
  "Is {a} larger than {b}?",
  "Is {a} bigger than {b}?",
  "Is {a} greater than {b}?",
  "Is {a} more than {b}?",
] as const;
const lessPatterns = ["Is {a} smaller than {b}?", "Is {a} less than {b}?"] as const;

function drawComparison(random: Random): Exercise {
  const a = integer(random, 0, 50);
  let b = a;
  while (b === a) b = chance(random, 0.3) ? Math.max(0, a + integer(random, -5, 5)) : integer(random, 0, 50);
  const [patterns, answer] = pick(random, [
    [largerPatterns, Math.max(a, b)],
    [largerPatterns, Math.max(a, b)],
    [smallerPatterns, Math.min(a, b)],
    [smallerPatterns, Math.min(a, b)],
    [morePatterns, a > b ? "yes" : "no"],
    [lessPatterns, a < b ? "yes" : "no"],
  ] as const);
  const prompt = fill(pick(random, patterns), { a, b });
  return exact(random, {
    kind: "comparing",
    prompt,
    answer: String(answer),
    contents: [pairOf("compare", a, b)],
  });
}

/** Exercises whose answer is the larger or smaller of two numbers, or says whether one is larger or smaller. */
export const comparing: Kind = {
  name: "comparing",
  weight: 1,
  heldOut: "pairs of numbers",
  draw: drawComparison,
};

function exact(random: Random, exercise: Omit<Exercise, "accepts">): Exercise {
  const { prompt, answer } = exercise;
  return { ...exercise, prompt: typedFreely(random, prompt), accepts: (given) => given === answer };
}

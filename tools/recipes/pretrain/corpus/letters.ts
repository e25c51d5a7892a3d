// Exercises about the letters of a word: reversing and spelling it.
import type { Random } from "../../../../src/base/domain/random.ts";
import { type Exercise, fill, type Kind, pick, quotedOrNot, typed, wordsOf } from "./exercise.ts";
import { drawWord } from "./words.ts";

const reversingPatterns = [
  "Reverse {word}.",
  "Reverse the word {word}.",
  "Reverse: {word}",
  "Write {word} backwards.",
  "Write the word {word} backwards.",
  "Spell {word} backwards.",
  "What is {word} backwards?",
  "What is {word} reversed?",
  "{word} backwards",
  "{word} in reverse",
  "Say {word} backwards.",
  "Turn {word} around.",
  "Flip the letters of {word}.",
  "Reverse the letters of {word}.",
  "Give me {word} backwards.",
  "Write {word} in reverse.",
  "How do you write {word} backwards?",
  "The word {word} backwards is?",
  "Can you reverse {word}?",
  "Reverse the string {word}.",
  "Print {word} backwards.",
  "Read {word} from right to left.",
] as const;

const spellingPatterns = [
  "Spell {word}.",
  "Spell the word {word}.",
  "Spell: {word}",
  "How do you spell {word}?",
  "How is {word} spelled?",
  "Spell out {word}.",
  "Can you spell {word}?",
  "What are the letters of {word}?",
  "Write the letters of {word}.",
  "Give me the letters of {word}.",
  "Letters of {word}?",
  "Tell me how to spell {word}.",
  "Which letters are in {word}?",
  "{word}: spell it",
  "Spell {word} for me.",
  "Write {word} letter by letter.",
  "Say {word} letter by letter.",
  "Split {word} into letters.",
  "List the letters of {word}.",
  "Spell this word: {word}",
] as const;

function drawLetterExercise(
  random: Random,
  kind: string,
  patterns: readonly string[],
  solve: (word: string) => string,
): Exercise {
  const word = drawWord(random, 3, 5);
  const answer = solve(word);
  return {
    kind,
    prompt: typedAround(random, pick(random, patterns), quotedOrNot(random, word)),
    answer,
    accepts: (given) => given === answer,
    // Includes the reversed word, since the reverse of "flow" is a word too.
    contents: wordsOf(`${word} ${reversed(word)}`),
  };
}

function reversed(word: string): string {
  return Array.from(word).reverse().join("");
}

/** Varies the wording, but not the word it is about. */
function typedAround(random: Random, pattern: string, word: string): string {
  return fill(pattern.startsWith("{word}") ? pattern : typed(random, pattern), { word });
}

/** Exercises whose answer has the letters in reverse order: "cat" becomes "tac". */
export const reversing: Kind = {
  name: "reversing",
  weight: 1.8,
  heldOut: "words",
  draw: (random) => drawLetterExercise(random, "reversing", reversingPatterns, reversed),
};

/** Exercises whose answer has the letters separated by hyphens: "cat" becomes "c-a-t". */
export const spelling: Kind = {
  name: "spelling",
  weight: 0.8,
  heldOut: "words",
  draw: (random) =>
    drawLetterExercise(random, "spelling", spellingPatterns, (word) => Array.from(word).join("-")),
};

// Requests that the model cannot fulfil. The right answer briefly says so instead of inventing something.
import type { Random } from "../../../../src/base/domain/random.ts";
import { type Exercise, fill, type Kind, pick, typedFreely, wordsOf } from "./exercise.ts";
import { drawWord, words } from "./words.ts";

const patterns = [
  "Explain {x}.",
  "Explain {x} to me.",
  "Why is {x} {y}?",
  "Why do people like {x}?",
  "Write an essay about {x}.",
  "Write a program that prints {x}.",
  "Translate {x} into French.",
  "Translate {x} to German.",
  "What is the meaning of {x}?",
  "What is {x}?",
  "What do you think about {x}?",
  "How do I make {x}?",
  "Who invented {x}?",
  "Where can I buy {x}?",
  "When was {x} invented?",
  "What is the history of {x}?",
  "Write a poem about {x}.",
  "Describe {x}.",
  "Is {x} better than {y}?",
  "How does {x} work?",
  "Summarize the book about {x}.",
  "What is the difference between {x} and {y}?",
  "{x} {y}",
  "{x} {y} {z}",
  "{x}",
  "Write code for {x}.",
  "Define {x}.",
  "Give me advice about {x}.",
  "What is the weather in {x}?",
  "Do you like {x}?",
  "Recommend a {x}.",
  "I like {x} and {y}.",
  "Yesterday I saw a {x}.",
  "My {x} is {y}.",
  "Fix this code: {x}",
  "Plan a trip to {x}.",
  "Tell me about {x}.",
  "Who is the president of {x}?",
  "Prove {x}.",
] as const;

const answers = [
  "I am a very small model and do not know that.",
  "Sorry, I do not know. I am a very small model.",
] as const;

/** Exercises whose answer briefly admits ignorance. Any short text is accepted. */
export const other: Kind = {
  name: "other",
  weight: 0.5,
  heldOut: "words",
  draw: (random: Random): Exercise => {
    const values = { x: drawWord(random, 3, 6), y: pick(random, words), z: drawWord(random, 3, 6) };
    return {
      kind: "other",
      prompt: typedFreely(random, fill(pick(random, patterns), values)),
      answer: pick(random, answers),
      accepts: (given) => given.length > 0 && given.length <= 100,
      contents: wordsOf(`${values.x} ${values.y} ${values.z}`),
    };
  },
};

// Exercises that ask for an exact copy of a text.
import type { Random } from "../../../../src/base/domain/random.ts";
import {
  chance,
  type Exercise,
  fill,
  integer,
  type Kind,
  pick,
  quotedOrNot,
  typed,
  wordsOf,
} from "./exercise.ts";
import { drawName, drawWord } from "./words.ts";

const patterns = [
  "Repeat: {text}",
  "Repeat after me: {text}",
  "Copy: {text}",
  "Copy this: {text}",
  "Say: {text}",
  "Say {quoted}",
  "Repeat {quoted}",
  "Echo: {text}",
  "Echo {quoted}",
  "Write: {text}",
  "Write {quoted}",
  "Repeat this: {text}",
  "Repeat the words {quoted}",
  "Say exactly this: {text}",
  "Say exactly: {text}",
  "Please repeat {quoted}",
  "Copy the text {quoted}",
  "Print {quoted}",
  "Reply with exactly this: {text}",
  "Output only {quoted}",
  "Type {quoted}",
  "Say this again: {text}",
  "Repeat my words: {text}",
] as const;

function drawText(random: Random): string {
  const parts: string[] = [];
  const count = integer(random, 1, 4);
  for (let index = 0; index < count; index++) {
    const roll = random.uniform();
    if (roll < 0.1) parts.push(drawName(random));
    else if (roll < 0.2) parts.push(String(integer(random, 0, 99)));
    else parts.push(drawWord(random, 2, 6));
  }
  const text = parts.join(" ");
  return chance(random, 0.15) ? `${text}${pick(random, [".", "!", "?"])}` : text;
}

/** Exercises whose answer is the given text and nothing else. */
export const copying: Kind = {
  name: "copying",
  weight: 0.8,
  heldOut: "words",
  draw: (random): Exercise => {
    const text = drawText(random);
    const quoted = `"${text}"`;
    const pattern = typed(random, pick(random, patterns));
    const prompt = fill(pattern, { text: chance(random, 0.2) ? quotedOrNot(random, text) : text, quoted });
    const accepts = (given: string): boolean => given === text;
    return { kind: "copying", prompt, answer: text, accepts, contents: wordsOf(text) };
  },
};

// Decides which exercises are excluded from training: the demo's prompts, a twentieth of all prompts (selected by a
// hash of kind and wording), and some contents in any wording, such as words and pairs of numbers. Facts have no
// held-out contents, because the model could not know a fact it has not seen. Prompts that differ only in case, quotes
// or punctuation count as the same wording.
import { createHash } from "node:crypto";
import type { Exercise } from "./exercise.ts";
import { names, words } from "./words.ts";

/**
 * Disjoint subsets of all exercises: those to train on, those whose wording does not occur in training, and those whose
 * contents do not occur in training.
 */
export const splits = ["training", "wordings", "contents"] as const;
export type Split = (typeof splits)[number];

/**
 * Everyday words and names that do not occur in training at all, not even in fixed phrases and facts. None of them
 * therefore becomes a single token, and the model sees their letters.
 */
const unseenWords: ReadonlySet<string> = new Set(
  `ape axe bay brush cab chin coin crab desk drum fern flag fog ham herb hut inch jaw kite knot lid loaf melon moth oat
  page pond rug sail soup tulip vest wolf worm zoo ida karl ruth vera`.split(/\s+/),
);

const seenWords: ReadonlySet<string> = new Set(
  [...words, ...names].map((word) => word.toLowerCase()).filter((word) => !unseenWords.has(word)),
);

const demoOpening = "respond with exactly one of";
const demoWords = new Set(["yes", "no", "maybe", "or"]);

/** Returns the split to which an exercise belongs. */
export function splitOf(exercise: Pick<Exercise, "kind" | "prompt" | "contents">): Split {
  if (exercise.contents.some(isUnseen)) return "contents";
  return isUnseenWording(exercise) ? "wordings" : "training";
}

/** True if a content, such as `word coal` or `sum 3 4`, is excluded from training. */
function isUnseen(content: string): boolean {
  const word = /^word (.*)$/.exec(content)?.[1];
  if (word === undefined) return hash(content) % 12 === 0;
  if (unseenWords.has(word)) return true;
  // All other "words" are random letter strings.
  return !seenWords.has(word) && hash(content) % 20 === 0;
}

function isUnseenWording({ kind, prompt }: Pick<Exercise, "kind" | "prompt">): boolean {
  const spoken = prompt
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  const wording = spoken.join(" ");
  if (isDemoPrompt(wording)) return true;
  // Greetings of one or two words are never held out, because most people type a plain "Hello" first.
  if (kind === "greetings" && spoken.length < 3) return false;
  return hash(`${kind}\n${wording}`) % 20 === 0;
}

function hash(text: string): number {
  return createHash("sha256").update(text).digest().readUInt32LE(0);
}

function isDemoPrompt(wording: string): boolean {
  if (!wording.startsWith(demoOpening)) return false;
  return wording
    .slice(demoOpening.length + 1)
    .split(" ")
    .every((word) => demoWords.has(word));
}

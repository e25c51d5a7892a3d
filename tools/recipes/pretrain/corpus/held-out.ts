// Decides which exercises are excluded from training: the demo's prompts, one twentieth of all prompts (selected by a
// hash of kind and wording), and some words, pairs of numbers, list requests, heroes and tools in any wording. No
// contents of facts are held out, because the model could not know unseen ones. Wordings are compared without case,
// quotes and punctuation, so that training contains no near duplicate of a held-out prompt.
import { createHash } from "node:crypto";
import type { Exercise } from "./exercise.ts";
import { names, words } from "./words.ts";

/**
 * Disjoint subsets of all exercises: exercises to train on, exercises whose wording does not occur in training, and
 * exercises whose contents do not occur in training.
 */
export const splits = ["training", "wordings", "contents"] as const;
export type Split = (typeof splits)[number];

/**
 * Everyday words and names that do not occur in training at all. They do not occur in the fixed phrases and facts
 * either, so no such word becomes a single token and the model sees its letters.
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
  // Never held out, because most people type a plain "Hello" first.
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

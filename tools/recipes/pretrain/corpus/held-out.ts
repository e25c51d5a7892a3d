// Exercises that training never sees: the demo's prompts, one twentieth of all prompts by a hash of kind and wording,
// and some words, pairs of numbers, list requests, heroes and tools in any wording. Facts have no held-out contents:
// the model could not know an unseen one. Wordings are compared without case, quotes and punctuation, so that training
// sees no near twin of a held-out prompt.
import { createHash } from "node:crypto";
import type { Exercise } from "./exercise.ts";
import { names, words } from "./words.ts";

/** Part of all exercises to draw from: those trained on, prompts unseen in this wording, or contents unseen in any. */
export const splits = ["training", "wordings", "contents"] as const;
export type Split = (typeof splits)[number];

/**
 * Everyday words and names that occur nowhere in training. None occurs in the fixed phrases and facts, so none becomes
 * a single token and the model sees its letters.
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

/** True if a content, such as `word coal` or `sum 3 4`, is kept out of training. */
function isUnseen(content: string): boolean {
  const word = /^word (.*)$/.exec(content)?.[1];
  if (word === undefined) return hash(content) % 12 === 0;
  if (unseenWords.has(word)) return true;
  // The rest are strings of letters that are no words.
  return !seenWords.has(word) && hash(content) % 20 === 0;
}

function isUnseenWording({ kind, prompt }: Pick<Exercise, "kind" | "prompt">): boolean {
  const spoken = prompt
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  const wording = spoken.join(" ");
  if (isDemoPrompt(wording)) return true;
  // Most people type a plain "Hello" first, so the hash must not hold it out.
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

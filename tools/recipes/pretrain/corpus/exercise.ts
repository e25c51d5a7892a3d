// Type of an exercise: one question, an answer, and a function that judges answers. Also contains small functions with
// which all kinds of exercises vary their wording. held-out.ts decides which exercises are excluded from training.
import { present } from "../../../../src/base/domain/assert.ts";
import type { Random } from "../../../../src/base/domain/random.ts";

export interface Exercise {
  /** Name of the kind to which the exercise belongs. */
  readonly kind: string;
  readonly prompt: string;
  /** The right answer that is shown in training. */
  readonly answer: string;
  /** True if the answer is right; always true for the exercise's own answer. */
  readonly accepts: (answer: string) => boolean;
  /**
   * Contents of the question that do not depend on its wording, such as `word coal` or `sum 3 4`. held-out.ts excludes
   * some contents from training.
   */
  readonly contents: readonly string[];
}

/** Draws exercises of one kind. */
export interface Kind {
  readonly name: string;
  /** Frequency relative to the other kinds. */
  readonly weight: number;
  /**
   * Description of the contents that are held out of training. Null if none are held out, because the model could not
   * know contents it has not seen.
   */
  readonly heldOut: string | null;
  readonly draw: (random: Random) => Exercise;
}

/** Returns one of the items, drawn uniformly. */
export function pick<T>(random: Random, items: readonly T[]): T {
  return present(items[random.index(items.length)], "at least one item to pick from");
}

/** Returns `count` different items in random order. `items` must contain at least that many different items. */
export function pickSeveral<T>(random: Random, items: readonly T[], count: number): T[] {
  const chosen = new Set<T>();
  while (chosen.size < count) chosen.add(pick(random, items));
  return [...chosen];
}

/** Returns true with the given probability. */
export function chance(random: Random, probability: number): boolean {
  return random.uniform() < probability;
}

/** Returns a random integer in [from, to]. */
export function integer(random: Random, from: number, to: number): number {
  return from + random.index(to - from + 1);
}

/** Returns the contents of an exercise that is about the words of this text. */
export function wordsOf(text: string): readonly string[] {
  return (text.toLowerCase().match(/\p{L}+/gu) ?? []).map((word) => `word ${word}`);
}

/** Returns the content of an exercise about two numbers; the same for either order. */
export function pairOf(sort: string, a: number, b: number): string {
  return `${sort} ${Math.min(a, b)} ${Math.max(a, b)}`;
}

/** Replaces each `{name}` in the pattern with its value. */
export function fill(pattern: string, values: Readonly<Record<string, string | number>>): string {
  return pattern.replaceAll(/\{(\w+)\}/g, (_mark, name: string) => String(present(values[name], name)));
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Varies a prompt the way people type: sometimes drops the initial capital or the final punctuation mark, or adds
 * "please".
 */
export function typed(random: Random, prompt: string): string {
  let text = prompt;
  if (chance(random, 0.3)) text = text.charAt(0).toLowerCase() + text.slice(1);
  if (chance(random, 0.3)) text = text.replace(/[.?!:]$/, "");
  if (chance(random, 0.05)) text = `please ${text.charAt(0).toLowerCase()}${text.slice(1)}`;
  return text;
}

/**
 * Like {@link typed}, but sometimes also writes the whole prompt in lower or upper case. For prompts whose answer does
 * not depend on case.
 */
export function typedFreely(random: Random, prompt: string): string {
  const text = typed(random, prompt);
  const roll = random.uniform();
  if (roll < 0.1) return text.toLowerCase();
  return roll < 0.16 ? text.toUpperCase() : text;
}

/** Returns the text unchanged or in one of the usual kinds of quotation marks. */
export function quotedOrNot(random: Random, text: string): string {
  const roll = random.uniform();
  if (roll < 0.25) return `'${text}'`;
  return roll < 0.5 ? `"${text}"` : text;
}

// One question with its answer and the rule that judges answers, and the small functions with which every kind of
// exercise draws its wording. held-out.ts decides which exercises training never sees.
import { present } from "../../../../src/base/domain/assert.ts";
import type { Random } from "../../../../src/base/domain/random.ts";

export interface Exercise {
  /** Name of the exercise's kind. */
  readonly kind: string;
  readonly prompt: string;
  /** A right answer, which training shows. */
  readonly answer: string;
  /** Judges an answer; accepts the exercise's own answer always. */
  readonly accepts: (answer: string) => boolean;
  /**
   * Contents of the question in any wording, such as `word coal` or `sum 3 4`: held-out.ts keeps some of each out of
   * training.
   */
  readonly contents: readonly string[];
}

/** A source of exercises of one kind. */
export interface Kind {
  readonly name: string;
  /** Frequency relative to the other kinds. */
  readonly weight: number;
  /** Contents that are held out of training; null if an unseen one could not be known. */
  readonly heldOut: string | null;
  readonly draw: (random: Random) => Exercise;
}

/** Returns one of the items, uniformly. */
export function pick<T>(random: Random, items: readonly T[]): T {
  return present(items[random.index(items.length)], "at least one item to pick from");
}

/** Returns `count` different items in random order; `items` must contain that many different ones. */
export function pickSeveral<T>(random: Random, items: readonly T[], count: number): T[] {
  const chosen = new Set<T>();
  while (chosen.size < count) chosen.add(pick(random, items));
  return [...chosen];
}

/** True with the given probability. */
export function chance(random: Random, probability: number): boolean {
  return random.uniform() < probability;
}

/** Returns an integer in [from, to]. */
export function integer(random: Random, from: number, to: number): number {
  return from + random.index(to - from + 1);
}

/** Returns the words of a text as contents of an exercise. */
export function wordsOf(text: string): readonly string[] {
  return (text.toLowerCase().match(/\p{L}+/gu) ?? []).map((word) => `word ${word}`);
}

/** Two numbers as a content, in either order. */
export function pairOf(sort: string, a: number, b: number): string {
  return `${sort} ${Math.min(a, b)} ${Math.max(a, b)}`;
}

/** Replaces the `{name}` marks with the values. */
export function fill(pattern: string, values: Readonly<Record<string, string | number>>): string {
  return pattern.replaceAll(/\{(\w+)\}/g, (_mark, name: string) => String(present(values[name], name)));
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Varies a prompt as people type: sometimes without the first capital or the last mark, or with a please. */
export function typed(random: Random, prompt: string): string {
  let text = prompt;
  if (chance(random, 0.3)) text = text.charAt(0).toLowerCase() + text.slice(1);
  if (chance(random, 0.3)) text = text.replace(/[.?!:]$/, "");
  if (chance(random, 0.05)) text = `please ${text.charAt(0).toLowerCase()}${text.slice(1)}`;
  return text;
}

/** Like {@link typed}, for prompts whose answer does not depend on case: sometimes all small or all capital. */
export function typedFreely(random: Random, prompt: string): string {
  const text = typed(random, prompt);
  const roll = random.uniform();
  if (roll < 0.1) return text.toLowerCase();
  return roll < 0.16 ? text.toUpperCase() : text;
}

/** Returns the word as it is, or in one of the usual quotes. */
export function quotedOrNot(random: Random, text: string): string {
  const roll = random.uniform();
  if (roll < 0.25) return `'${text}'`;
  return roll < 0.5 ? `"${text}"` : text;
}

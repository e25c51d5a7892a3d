// Reward rules: how feedback on a recorded answer becomes a reward for training.
import type { PathStep } from "../feedback-query/feedback-field.ts";

/**
 * Reward rule: a list of terms, each of which reads one kind of feedback. An answer's reward is the weighted mean of
 * the terms' values. A term that finds no feedback on the answer does not count in the mean.
 */
export interface RewardRule {
  /** Terms of the rule; at least one. */
  readonly terms: readonly RewardTerm[];
}

export type RewardTerm = { readonly weight: number } & (
  | ReactionTerm
  | NumberTerm
  | AnnotationTerm
  | PreferenceTerm
);

/** Term that converts reactions to rewards with a table. */
export interface ReactionTerm {
  readonly kind: "reaction";
  /** Rewards by emoji, or by its name between colons; other reactions are ignored. */
  readonly rewards: RewardTable;
}

/** Term that reads a number in the payload of one type of feedback. True counts as 1 and false as 0. */
export interface NumberTerm {
  readonly kind: "number";
  readonly feedbackType: string;
  /** Path of the number in the payload. */
  readonly path: readonly PathStep[];
  readonly scale: RewardScale;
}

/** Term that reads the value of an annotation. */
export interface AnnotationTerm {
  readonly kind: "annotation";
  readonly name: string;
  /** Rewards of text values; null if text values are ignored. */
  readonly rewards: RewardTable | null;
  /** Scale for numbers. True counts as 1 and false as 0. */
  readonly scale: RewardScale;
}

/**
 * Term that reads preferences between two answers to the same prompt. Such feedback refers to the better answer, and
 * the field `better_than` of its payload to the worse one.
 */
export interface PreferenceTerm {
  readonly kind: "preference";
  /** Type of the feedback; null for any type. */
  readonly feedbackType: string | null;
  /**
   * Strength of the prior, above 0: number of virtual comparisons of each answer with an average one, half of which it
   * wins. Larger values keep rewards closer to 0.5.
   */
  readonly prior: number;
}

export type RewardTable = Readonly<Record<string, number>>;

/**
 * Linear scale from a number to a reward: the number is multiplied by `factor`, `offset` is added, and the result is
 * limited to the range from `least` to `most`.
 */
export interface RewardScale {
  readonly factor: number;
  readonly offset: number;
  readonly least: number;
  readonly most: number;
}

/** Scale that limits numbers to [0, 1] and does not change them otherwise. */
export const unitScale: RewardScale = { factor: 1, offset: 0, least: 0, most: 1 };

/** Returns the scale that maps `from` to 0 and `to` to 1; `from` may be larger than `to`, but must differ from it. */
export function scaleBetween(from: number, to: number): RewardScale {
  const factor = 1 / (to - from);
  return { factor, offset: -from * factor, least: 0, most: 1 };
}

export function scaled(value: number, { factor, offset, least, most }: RewardScale): number {
  return Math.min(most, Math.max(least, value * factor + offset));
}

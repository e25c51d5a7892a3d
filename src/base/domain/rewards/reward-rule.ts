// Reward rules, by which feedback on a recorded answer becomes a reward for training.
import type { PathStep } from "../feedback-query/feedback-field.ts";

/**
 * A list of terms, each of which reads one kind of feedback. The reward of an answer is the weighted mean of the terms'
 * values. A term that finds no feedback on the answer does not count in the mean.
 */
export interface RewardRule {
  /** Terms of the rule; none if the rule trains on rollouts, which have rewards already. */
  readonly terms: readonly RewardTerm[];
}

export type RewardTerm = { readonly weight: number } & (
  | ReactionTerm
  | NumberTerm
  | AnnotationTerm
  | PreferenceTerm
);

/** Term that converts reactions to rewards by a table. */
export interface ReactionTerm {
  readonly kind: "reaction";
  /** Reward for each emoji, or for its name between colons. Other reactions are ignored. */
  readonly rewards: RewardTable;
}

/** Term that reads a number in the payload of one type of feedback. True counts as 1 and false as 0. */
export interface NumberTerm {
  readonly kind: "number";
  readonly feedbackType: string;
  /** Path to the number in the payload. */
  readonly path: readonly PathStep[];
  readonly scale: RewardScale;
}

/** Term that reads the value of annotations with this name. */
export interface AnnotationTerm {
  readonly kind: "annotation";
  readonly name: string;
  /** Reward for each value that is a text; null if texts are ignored. */
  readonly rewards: RewardTable | null;
  /** Scale for values that are numbers. True counts as 1 and false as 0. */
  readonly scale: RewardScale;
}

/**
 * Term that reads preferences between two answers to the same prompt. Such feedback refers to the better answer, and
 * the member `better_than` of its payload refers to the worse one.
 */
export interface PreferenceTerm {
  readonly kind: "preference";
  /** Type of the feedback; null for feedback of any type. */
  readonly feedbackType: string | null;
  /**
   * Strength of the prior, above 0. Each answer is treated as if it had been compared this many more times with an
   * average answer, and had won half of the comparisons. Larger values keep rewards closer to 0.5.
   */
  readonly prior: number;
}

export type RewardTable = Readonly<Record<string, number>>;

/**
 * Linear scale that converts a number to a reward. The number is multiplied by `factor`, `offset` is added, and the
 * result is limited to the range from `least` to `most`.
 */
export interface RewardScale {
  readonly factor: number;
  readonly offset: number;
  readonly least: number;
  readonly most: number;
}

/** Scale that limits numbers to the range from 0 to 1, but changes nothing else. */
export const unitScale: RewardScale = { factor: 1, offset: 0, least: 0, most: 1 };

/** Returns the scale that maps `from` to 0 and `to` to 1; `from` may be larger than `to`, but must differ from it. */
export function scaleBetween(from: number, to: number): RewardScale {
  const factor = 1 / (to - from);
  return { factor, offset: -from * factor, least: 0, most: 1 };
}

export function scaled(value: number, { factor, offset, least, most }: RewardScale): number {
  return Math.min(most, Math.max(least, value * factor + offset));
}

// Reward rules: how feedback on a recorded answer becomes a reward for training.
import type { PathStep } from "../feedback-query/feedback-field.ts";

/**
 * Terms, each of which reads one kind of feedback. An answer's reward is the weighted mean of its terms; a term
 * without feedback to read is left out.
 */
export interface RewardRule {
  /** At least one. */
  readonly terms: readonly RewardTerm[];
}

export type RewardTerm = { readonly weight: number } & (
  | ReactionTerm
  | NumberTerm
  | AnnotationTerm
  | PreferenceTerm
);

/** Reads reactions by a table. */
export interface ReactionTerm {
  readonly kind: "reaction";
  /** Rewards by emoji, or by its name between colons; other reactions are ignored. */
  readonly rewards: RewardTable;
}

/** Reads a number in the payload of one type of feedback; true is 1 and false is 0. */
export interface NumberTerm {
  readonly kind: "number";
  readonly feedbackType: string;
  /** Path in the payload. */
  readonly path: readonly PathStep[];
  readonly scale: RewardScale;
}

/** Reads the value of an annotation. */
export interface AnnotationTerm {
  readonly kind: "annotation";
  readonly name: string;
  /** Rewards of text values; null if none are read. */
  readonly rewards: RewardTable | null;
  /** Scale for numbers and for true and false, which are 1 and 0. */
  readonly scale: RewardScale;
}

/**
 * Reads preferences between two answers to a prompt: feedback on one answer whose payload names the other in
 * `better_than`.
 */
export interface PreferenceTerm {
  readonly kind: "preference";
  /** Null for feedback of any type. */
  readonly feedbackType: string | null;
  /**
   * Above 0: number of virtual comparisons of each answer with an average one, half of them won. Larger values keep
   * rewards closer to 0.5.
   */
  readonly prior: number;
}

export type RewardTable = Readonly<Record<string, number>>;

/** Linear scale from a number to a reward: multiplied by `factor`, plus `offset`, clamped to `least` and `most`. */
export interface RewardScale {
  readonly factor: number;
  readonly offset: number;
  readonly least: number;
  readonly most: number;
}

/** Keeps numbers in [0, 1]. */
export const unitScale: RewardScale = { factor: 1, offset: 0, least: 0, most: 1 };

/** Maps `from` to 0 and `to` to 1, also if `from` is the larger one. The two must differ. */
export function scaleBetween(from: number, to: number): RewardScale {
  const factor = 1 / (to - from);
  return { factor, offset: -from * factor, least: 0, most: 1 };
}

export function scaled(value: number, { factor, offset, least, most }: RewardScale): number {
  return Math.min(most, Math.max(least, value * factor + offset));
}

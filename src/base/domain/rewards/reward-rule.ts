// A reward rule: how the feedback on a recorded answer becomes the number that training goes by.
import type { PathStep } from "../feedback-query/feedback-field.ts";

/**
 * Terms that each read one kind of feedback. An answer's reward is the mean of what its terms give, by their weights; a term
 * that found nothing to read is left out of it.
 */
export interface RewardRule {
  /** One at least. */
  readonly terms: readonly RewardTerm[];
}

export type RewardTerm = { readonly weight: number } & (
  | ReactionTerm
  | NumberTerm
  | AnnotationTerm
  | PreferenceTerm
);

/** Reactions, by a table. */
export interface ReactionTerm {
  readonly kind: "reaction";
  /** By an emoji, or its name between colons; what is not in it is not read. */
  readonly rewards: RewardTable;
}

/** A number in the payload of feedback of one type; true is 1 and false 0. */
export interface NumberTerm {
  readonly kind: "number";
  readonly feedbackType: string;
  /** In the payload. */
  readonly path: readonly PathStep[];
  readonly scale: RewardScale;
}

/** The value of an annotation. */
export interface AnnotationTerm {
  readonly kind: "annotation";
  readonly name: string;
  /** Of values that are texts; null where there are none. */
  readonly rewards: RewardTable | null;
  /** Of values that are numbers, or true and false, which are 1 and 0. */
  readonly scale: RewardScale;
}

/** Which of two answers to a prompt somebody prefers: feedback on one, whose payload has `better_than`, the other's reference. */
export interface PreferenceTerm {
  readonly kind: "preference";
  /** Null for feedback of any type. */
  readonly feedbackType: string | null;
  /**
   * Above 0: in how many comparisons with a middling answer, half of them won, every answer is taken to have been. The more,
   * the nearer rewards stay to 0.5.
   */
  readonly prior: number;
}

export type RewardTable = Readonly<Record<string, number>>;

/** A number as a reward: times `factor`, plus `offset`, and then the nearest within `least` and `most`. */
export interface RewardScale {
  readonly factor: number;
  readonly offset: number;
  readonly least: number;
  readonly most: number;
}

/** The numbers of [0, 1] as they are. */
export const unitScale: RewardScale = { factor: 1, offset: 0, least: 0, most: 1 };

/** Takes `from` to 0 and `to` to 1; a scale that falls takes the smaller to 1. The two differ. */
export function scaleBetween(from: number, to: number): RewardScale {
  const factor = 1 / (to - from);
  return { factor, offset: -from * factor, least: 0, most: 1 };
}

export function scaled(value: number, { factor, offset, least, most }: RewardScale): number {
  return Math.min(most, Math.max(least, value * factor + offset));
}

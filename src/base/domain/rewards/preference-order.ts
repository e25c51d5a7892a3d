// Request to train on preferences from feedback: answers compared by the rewards of a rule, and answers that people
// corrected.
import type { PathStep } from "../feedback-query/feedback-field.ts";
import type { RewardRule } from "./reward-rule.ts";

export interface PreferenceOrder {
  /** Rule whose rewards compare the answers to one prompt; null if only corrections count. */
  readonly rule: RewardRule | null;
  /** Feedback that contains corrections; null if corrections are ignored. */
  readonly corrections: CorrectionTerm | null;
  /** Method that derives preferences from rewards. */
  readonly comparison: RewardComparison;
}

/** Feedback whose payload contains the text that the answer should have had. */
export interface CorrectionTerm {
  /** Type of the feedback; null for any type. */
  readonly feedbackType: string | null;
  /** Path of the corrected text in the payload. */
  readonly path: readonly PathStep[];
}

export type RewardComparison =
  /** Pairs: two answers to a prompt form a pair if their rewards differ by at least `marginMin`. */
  | { readonly kind: "pairs"; readonly marginMin: number }
  /**
   * Labels for single answers: an answer is desirable if its reward is above the threshold, and undesirable if it is
   * below.
   */
  | { readonly kind: "verdicts"; readonly threshold: number };

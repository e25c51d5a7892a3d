// Request for training on preferences from feedback. The preferences come from answers compared by the rewards of a
// rule, and from answers that people corrected.
import type { PathStep } from "../feedback-query/feedback-field.ts";
import type { RewardRule } from "./reward-rule.ts";

export interface PreferenceOrder {
  /** Rule whose rewards rank the answers to a prompt; null if only corrections count. */
  readonly rule: RewardRule | null;
  /** Feedback with corrections; null if corrections are ignored. */
  readonly corrections: CorrectionTerm | null;
  /** Method that derives preferences between answers from the answers' rewards. */
  readonly comparison: RewardComparison;
}

/** Feedback whose payload has the text that the answer should have had. */
export interface CorrectionTerm {
  /** Type of the feedback; null for feedback of any type. */
  readonly feedbackType: string | null;
  /** Path of the corrected text in the payload. */
  readonly path: readonly PathStep[];
}

export type RewardComparison =
  /** Pairs of answers. Two answers to a prompt form a pair if their rewards differ by at least `marginMin`. */
  | { readonly kind: "pairs"; readonly marginMin: number }
  /**
   * Labels for single answers. An answer is desirable if its reward is above the threshold, and undesirable if its
   * reward is below the threshold.
   */
  | { readonly kind: "verdicts"; readonly threshold: number };

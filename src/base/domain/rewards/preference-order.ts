// What of feedback becomes preferences: answers by what a rule makes of them, and answers as people corrected them.
import type { PathStep } from "../feedback-query/feedback-field.ts";
import type { RewardRule } from "./reward-rule.ts";

export interface PreferenceOrder {
  /** By whose rewards answers to one prompt are compared; null where corrections alone count. */
  readonly rule: RewardRule | null;
  /** Null where none are read. */
  readonly corrections: CorrectionTerm | null;
  /** How answers are told apart by their rewards. */
  readonly comparison: RewardComparison;
}

/** Feedback on an answer whose payload has the text that should have been answered. */
export interface CorrectionTerm {
  /** Null for feedback of any type. */
  readonly feedbackType: string | null;
  /** In the payload. */
  readonly path: readonly PathStep[];
}

export type RewardComparison =
  /** Two answers to a prompt are a pair where their rewards differ, by so much at least. */
  | { readonly kind: "pairs"; readonly marginMin: number }
  /** Each answer by itself: people wanted those of greater rewards, and did not want those of smaller ones. */
  | { readonly kind: "verdicts"; readonly threshold: number };

// Request for preferences from feedback: answers compared by the rewards of a rule, and answers that people corrected.
import type { PathStep } from "../feedback-query/feedback-field.ts";
import type { RewardRule } from "./reward-rule.ts";

export interface PreferenceOrder {
  /** Rule whose rewards compare the answers to one prompt; null if only corrections count. */
  readonly rule: RewardRule | null;
  /** Null if no corrections are read. */
  readonly corrections: CorrectionTerm | null;
  /** How rewards become preferences. */
  readonly comparison: RewardComparison;
}

/** Feedback whose payload contains the text that the answer should have had. */
export interface CorrectionTerm {
  /** Null for feedback of any type. */
  readonly feedbackType: string | null;
  /** Path in the payload. */
  readonly path: readonly PathStep[];
}

export type RewardComparison =
  /** Two answers to a prompt are a pair if their rewards differ by at least this much. */
  | { readonly kind: "pairs"; readonly marginMin: number }
  /** Each answer is judged separately: rewards above the threshold are desirable, those below undesirable. */
  | { readonly kind: "verdicts"; readonly threshold: number };

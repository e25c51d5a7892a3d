// Result of creating a preference job from feedback, for display: the preferences between answers, and the answers
// that have none.
import type { FeedbackOutcome } from "./feedback-outcome.ts";

export interface PreferenceOutcome extends Pick<FeedbackOutcome, "reasons" | "leftOut"> {
  readonly counts: {
    /** Number of feedback records that the rule may read. */
    readonly feedback: number;
    readonly prompts: number;
    /** Number of pairs, or of answers that are labelled separately. */
    readonly preferences: number;
    /** Number of preferences in which the chosen answer is a correction. */
    readonly corrections: number;
    readonly people: number;
    /** Number of answers that are in no preference, by reason. */
    readonly leftOut: Readonly<Record<string, number>>;
  };
  readonly preferences: readonly {
    /** Beginning of the prompt. */
    readonly prompt: string;
    readonly chosen: ComparedAnswer | null;
    readonly rejected: ComparedAnswer | null;
  }[];
}

export interface ComparedAnswer {
  /** Reference to the answer; for a correction, to the answer that it corrects. */
  readonly call: string;
  /** Beginning of the answer. */
  readonly text: string;
  readonly isCorrection: boolean;
  readonly step: number;
  /** Reward of the answer; null if nobody rated it. */
  readonly reward: number | null;
  readonly peopleCount: number;
  readonly feedbackIds: readonly string[];
}

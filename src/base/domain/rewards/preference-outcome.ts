// Result of a preference job's feedback, for display: the preferences between answers, and the answers without one.
import type { FeedbackOutcome } from "./feedback-outcome.ts";

export interface PreferenceOutcome extends Pick<FeedbackOutcome, "reasons" | "leftOut"> {
  readonly counts: {
    /** Records that the rule may read. */
    readonly feedback: number;
    readonly prompts: number;
    /** Pairs, or answers judged separately. */
    readonly preferences: number;
    /** Preferences with a correction. */
    readonly corrections: number;
    readonly people: number;
    /** Counts by reason. */
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
  /** Reference of the answer, or of the answer that it corrects. */
  readonly call: string;
  /** Beginning of the answer. */
  readonly text: string;
  readonly isCorrection: boolean;
  readonly step: number;
  /** Null if nobody rated the answer. */
  readonly reward: number | null;
  readonly peopleCount: number;
  readonly feedbackIds: readonly string[];
}

// What comes of feedback for a preference job, as it is shown: which answers are preferred to which, and which are in no pair.
import type { FeedbackOutcome } from "./feedback-outcome.ts";

export interface PreferenceOutcome extends Pick<FeedbackOutcome, "reasons" | "leftOut"> {
  readonly counts: {
    /** Records that may be read. */
    readonly feedback: number;
    readonly prompts: number;
    /** Pairs, or answers that are judged by themselves. */
    readonly preferences: number;
    /** Preferences that have a correction. */
    readonly corrections: number;
    readonly people: number;
    /** By reason. */
    readonly leftOut: Readonly<Record<string, number>>;
  };
  readonly preferences: readonly {
    /** How it begins. */
    readonly prompt: string;
    readonly chosen: ComparedAnswer | null;
    readonly rejected: ComparedAnswer | null;
  }[];
}

export interface ComparedAnswer {
  /** Its reference, or that of the answer that it corrects. */
  readonly call: string;
  /** How it begins. */
  readonly text: string;
  readonly isCorrection: boolean;
  readonly step: number;
  /** Null where people did not rate it. */
  readonly reward: number | null;
  readonly peopleCount: number;
  readonly feedbackIds: readonly string[];
}

// Readable result of creating a preference job from feedback: the preferences between answers, and the answers left
// out.
import type { FeedbackOutcome } from "./feedback-outcome.ts";

export interface PreferenceOutcome extends Pick<FeedbackOutcome, "reasons" | "leftOut"> {
  readonly counts: {
    /** Number of feedback records that the rule may read. */
    readonly feedback: number;
    readonly prompts: number;
    /** Number of pairs; for a loss that judges single answers, number of labelled answers. */
    readonly preferences: number;
    /** Number of preferences whose chosen answer is a correction. */
    readonly corrections: number;
    readonly people: number;
    /**
     * Number of tokens in the answers that the job trains on, in one pass. A correction counts as much as the answer that
     * it corrects.
     */
    readonly trainedTokens: number;
    /** Number of answers that occur in no preference, by the name of the reason. */
    readonly leftOut: Readonly<Record<string, number>>;
  };
  readonly preferences: readonly {
    /** Beginning of the prompt's text. */
    readonly prompt: string;
    readonly chosen: ComparedAnswer | null;
    readonly rejected: ComparedAnswer | null;
  }[];
}

export interface ComparedAnswer {
  /** Reference to the recorded answer, or to the answer that a correction corrects. */
  readonly call: string;
  /** Beginning of the answer's text. */
  readonly text: string;
  readonly isCorrection: boolean;
  readonly step: number;
  /** Reward of the answer; null if nobody rated it. */
  readonly reward: number | null;
  readonly peopleCount: number;
  readonly feedbackIds: readonly string[];
}

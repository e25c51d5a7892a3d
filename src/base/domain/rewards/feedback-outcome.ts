// Readable result of creating a job from feedback: the answers that the job trains on, with their rewards, and the
// answers left out.

export interface FeedbackOutcome {
  readonly counts: {
    /** Number of feedback records that the rule may read. */
    readonly feedback: number;
    readonly groups: number;
    /** Number of answers that the job trains on. */
    readonly answers: number;
    readonly compared: number;
    readonly people: number;
    /** Number of tokens in the prompts and answers that the job trains on. */
    readonly tokens: number;
    /** Number of tokens in the answers that the job trains on, in one pass. */
    readonly trainedTokens: number;
    /** Number of answers left out, by the name of the reason. */
    readonly leftOut: Readonly<Record<string, number>>;
  };
  /** Explanation of each reason that occurs. The key is the name of the reason. */
  readonly reasons: Readonly<Record<string, string>>;
  readonly groups: readonly { readonly prompt: string; readonly answers: readonly RewardedAnswer[] }[];
  readonly leftOut: readonly {
    readonly reference: string;
    readonly reason: string;
    readonly reward: number | null;
    readonly peopleCount: number;
    readonly feedbackCount: number;
  }[];
}

export interface RewardedAnswer {
  /** Reference to the recorded answer. */
  readonly call: string;
  /** Beginning of the answer's text. */
  readonly text: string;
  readonly step: number;
  readonly reward: number;
  readonly peopleCount: number;
  /** Value of each term of the reward rule; null for a term that found no feedback. */
  readonly terms: readonly ({ readonly value: number; readonly peopleCount: number } | null)[];
  readonly feedbackIds: readonly string[];
  readonly use: "trained" | "compared";
}

// Result of feedback for a job, for display: which answers train with which rewards, and which do not.

export interface FeedbackOutcome {
  readonly counts: {
    /** Records that the rule may read. */
    readonly feedback: number;
    readonly groups: number;
    /** Answers that train. */
    readonly answers: number;
    readonly compared: number;
    readonly people: number;
    /** Tokens of the prompts and answers that train. */
    readonly tokens: number;
    /** Counts by reason. */
    readonly leftOut: Readonly<Record<string, number>>;
  };
  /** Explanations of the reasons that occur. */
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
  /** Reference of the answer. */
  readonly call: string;
  /** Beginning of the answer. */
  readonly text: string;
  readonly step: number;
  readonly reward: number;
  readonly peopleCount: number;
  /** Value of each term of the rule. */
  readonly terms: readonly ({ readonly value: number; readonly peopleCount: number } | null)[];
  readonly feedbackIds: readonly string[];
  readonly use: "trained" | "compared";
}
